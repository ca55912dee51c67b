// Decorates an endpoint with planned faults, for tests: "operation k fails" must
// end every rank with an error that names the cause, never a hang.
#ifndef CROSSOVER_NET_FAULTY_ENDPOINT_H_
#define CROSSOVER_NET_FAULTY_ENDPOINT_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "core/clock.h"
#include "net/endpoint.h"

namespace crossover::net {

// Exchanges are counted from 0.
struct FaultPlan {
  std::optional<int64_t> fail_at;  // this exchange fails; the inner endpoint is aborted
  absl::Status failure = absl::InternalError("injected fault");
  std::optional<int64_t> delay_at;  // this exchange begins late
  int64_t delay_ns = 0;
};

// `inner` and `clock` are borrowed and outlive this. Threads as for any endpoint.
class FaultyEndpoint final : public Endpoint {
 public:
  FaultyEndpoint(Endpoint& inner, FaultPlan plan, Clock& clock);

  int rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  absl::Status Exchange(const MessageTag& tag, std::span<const SendOp> sends,
                        std::span<const ReceiveOp> receives) override;
  void Abort(const absl::Status& why) override { inner_.Abort(why); }

  // Exchanges begun so far.
  int64_t exchanges() const { return exchanges_; }

 private:
  Endpoint& inner_;
  const FaultPlan plan_;
  Clock& clock_;
  int64_t exchanges_ = 0;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_FAULTY_ENDPOINT_H_
