// The call by which an observer asks the rendezvous for the run's processes
// (proto/status.proto). Thread-safe.
#ifndef CROSSOVER_NET_RUN_INSPECTION_H_
#define CROSSOVER_NET_RUN_INSPECTION_H_

#include <functional>

#include "net/identity.h"
#include "proto/status.grpc.pb.h"

namespace crossover::net {

class RunInspection final : public proto::RunInspection::CallbackService {
 public:
  // `collect` is called on gRPC's threads, for callers with the token of `ours`.
  RunInspection(const Identity& ours, std::function<proto::MembersStatus()> collect);

  grpc::ServerUnaryReactor* Members(grpc::CallbackServerContext* context,
                                    const proto::StatusRequest* request,
                                    proto::MembersStatus* answer) override;

 private:
  const Identity ours_;
  const std::function<proto::MembersStatus()> collect_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_RUN_INSPECTION_H_
