// proto/job.proto as protoc read it, with the comments that the generated code leaves out.
#ifndef CROSSOVER_PROTO_JOB_COMMENTS_H_
#define CROSSOVER_PROTO_JOB_COMMENTS_H_

#include <string_view>

namespace crossover::proto {

// A serialised google.protobuf.FileDescriptorSet of that one file, with source info. Constant;
// thread-safe.
std::string_view JobFileWithComments();

}  // namespace crossover::proto

#endif  // CROSSOVER_PROTO_JOB_COMMENTS_H_
