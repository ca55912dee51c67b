// The messages between workers and parameter servers: a header of 48 bytes, then
// the payload. A message is one frame; the stream keeps messages apart and in order.
//
//   bytes   field           little-endian
//   0-3     magic           0x53504f58, "XOPS"
//   4       format          1
//   5       kind
//   6       dtype           of the payload's values: 0 none, 1 fp32, 2 fp16, 3 bf16
//   7       late            reply: 1 if the push came after its step had closed; else 0
//   8-11    part            index in ShardPlan::parts, 0xffffffff where there is none
//   12-15   zero
//   16-23   payload_bytes   equals what follows the header
//   24-31   step            push, reply to a push, squares, norm; else -1
//   32-39   version         push: computed from; reply: these parameters'; else -1
//   40-47   held_ns         reply: how long the lead bound held it; else 0
//
//   kind        from     payload                        answer
//   plan        worker   total steps, bucket lengths    ack; first on every stream
//   initialize  worker 0 a part's first parameters      ack
//   pull        worker   none                           reply (step -1) once initialized
//   push        worker   a part's contribution          reply; squares first where the servers clip
//   leave       worker   none                           ack; last on the stream
//   reply       server   a part's parameters
//   ack         server   none
//   squares     server   a SquareSum, of the part's     norm, once all parts' squares have come
//                        mean contribution
//   norm        worker   fp64, of all parts together    reply, the push's
// Pushes and their replies travel as the job's ps.wire says, all else as fp32. A worker has
// ps.channels streams to each server; the n-th of a server's parts travels, both ways, on stream
// n % channels. Each stream says which one it is in its call's metadata; leave is for the first
// alone.
//
// An error ends the stream: its gRPC status carries the code and the text.
//
// Pure functions; what is decoded has been checked as far as one frame allows.
// Errors are InvalidArgument and say what was found and what is allowed.
#ifndef CROSSOVER_PS_WIRE_H_
#define CROSSOVER_PS_WIRE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/bucket_plan.h"
#include "core/data_type.h"
#include "core/shard_plan.h"
#include "proto/job.pb.h"
#include "ps/payload.h"

namespace crossover::ps {

inline constexpr char kExchangeMethod[] = "/crossover.ParameterServer/Exchange";
// Which of a worker's streams to this server; absent: 0.
inline constexpr char kChannelKey[] = "crossover-channel";

enum class FrameKind : uint8_t {
  kPlan = 1,
  kInitialize = 2,
  kPull = 3,
  kPush = 4,
  kLeave = 5,
  kReply = 6,
  kAck = 7,
  kSquares = 8,
  kNorm = 9,
};
const char* FrameKindName(FrameKind kind);

struct FrameHeader {
  static constexpr size_t kBytes = 48;
  static constexpr uint32_t kNoPart = 0xffffffff;

  FrameKind kind = FrameKind::kAck;
  DataType type = DataType::kFloat32;  // of the payload's values, where it consists of such
  uint32_t part = kNoPart;
  int64_t payload_bytes = 0;
  int64_t step = -1;
  int64_t version = -1;
  int64_t held_ns = 0;
  bool late = false;
};

std::array<std::byte, FrameHeader::kBytes> EncodeHeader(const FrameHeader& header);
// Of a whole message, header and payload.
absl::StatusOr<FrameHeader> DecodeHeader(const Payload& message);
// How pushes and their replies travel in this job.
DataType WireTypeOf(const proto::Job& job);
// Whether the frame's part belongs to `server` and, where it carries values, has
// the part's size and the type that frames of its kind have where pushes travel as `wire`.
absl::Status CheckPart(const FrameHeader& header, const ShardPlan& plan, int server, DataType wire);

// What a server must know of the workers' model, equal on all of them. Buckets
// follow one another without gaps, so their lengths say everything.
struct WorkerPlan {
  int64_t total_steps = 0;              // of the learning-rate schedule
  std::vector<int64_t> bucket_lengths;  // fp32 values
  bool operator==(const WorkerPlan&) const = default;
};
inline constexpr int64_t kBucketsMax = 1 << 16;
inline constexpr int64_t kValuesMax = int64_t{1} << 31;  // of a frame, and of a plan in all
inline constexpr int64_t kTotalStepsMax = 1'000'000'000'000;
inline constexpr int64_t kPartsMax = 1 << 22;

WorkerPlan MakeWorkerPlan(const BucketPlan& buckets, int64_t total_steps);
std::vector<std::byte> EncodePlan(const WorkerPlan& plan);
absl::StatusOr<WorkerPlan> DecodePlan(const Payload& payload);
// The shard plan that follows from it; refuses one of more than kPartsMax parts.
absl::StatusOr<ShardPlan> ShardPlanFor(const WorkerPlan& plan, int servers, int64_t part_bytes);
// By part: which of its server's streams (0 to channels-1) it travels on.
std::vector<int> PartChannels(const ShardPlan& plan, int channels);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_WIRE_H_
