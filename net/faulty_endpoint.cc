#include "net/faulty_endpoint.h"

#include <utility>

namespace crossover::net {

FaultyEndpoint::FaultyEndpoint(Endpoint& inner, FaultPlan plan, Clock& clock)
    : inner_(inner), plan_(std::move(plan)), clock_(clock) {}

absl::Status FaultyEndpoint::Exchange(const MessageTag& tag, std::span<const SendOp> sends,
                                      std::span<const ReceiveOp> receives) {
  const int64_t exchange = exchanges_++;
  if (plan_.delay_at == exchange) clock_.SleepNs(plan_.delay_ns);
  if (plan_.fail_at == exchange) {
    inner_.Abort(plan_.failure);
    // Nothing is moved: an aborted endpoint only tells its peers why it stops.
    return inner_.Exchange(tag, {}, {});
  }
  return inner_.Exchange(tag, sends, receives);
}

}  // namespace crossover::net
