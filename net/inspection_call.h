// The server's side of a call by which an observer asks for a state: the token is checked, the
// state is collected on gRPC's thread, and the call ends.
#ifndef CROSSOVER_NET_INSPECTION_CALL_H_
#define CROSSOVER_NET_INSPECTION_CALL_H_

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"
#include "net/grpc_setup.h"
#include "net/observer.h"

namespace crossover::net {

// Of a generated callback service's method: its result. `collect` makes the answer.
template <typename Answer, typename Collect>
grpc::ServerUnaryReactor* AnswerObserver(const Identity& ours, grpc::CallbackServerContext& context,
                                         Answer& answer, const Collect& collect) {
  const absl::Status allowed = CheckObserver(ours, context);
  if (allowed.ok()) answer = collect();
  grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
  reactor->Finish(ToGrpc(allowed));
  return reactor;
}

}  // namespace crossover::net

#endif  // CROSSOVER_NET_INSPECTION_CALL_H_
