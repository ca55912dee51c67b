// A call that is answered with an error at once and nothing else.
#ifndef CROSSOVER_NET_REFUSED_CALL_H_
#define CROSSOVER_NET_REFUSED_CALL_H_

#include "absl/status/status.h"
#include "net/grpc_setup.h"
#include "net/thread_handover.h"

namespace crossover::net {

// `Reactor` is one of gRPC's server reactors for streams. Made with new and returned to
// gRPC, it deletes itself.
template <typename Reactor>
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const absl::Status& why) {
    HandOver(this);
    this->Finish(ToGrpc(why));
  }
  void OnDone() override {
    TakeOver(this);
    delete this;
  }
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_REFUSED_CALL_H_
