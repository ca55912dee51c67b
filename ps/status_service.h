// The status call of a parameter server, on the port on which its workers come
// (proto/status.proto). Thread-safe.
#ifndef CROSSOVER_PS_STATUS_SERVICE_H_
#define CROSSOVER_PS_STATUS_SERVICE_H_

#include <functional>

#include "net/identity.h"
#include "proto/status.grpc.pb.h"

namespace crossover::ps {

class StatusService final : public proto::ServerInspection::CallbackService {
 public:
  // `collect` is called on gRPC's threads, for callers with the token of `ours`.
  StatusService(const net::Identity& ours, std::function<proto::ServerStatus()> collect);

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const proto::StatusRequest* request,
                                   proto::ServerStatus* answer) override;

 private:
  const net::Identity ours_;
  const std::function<proto::ServerStatus()> collect_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STATUS_SERVICE_H_
