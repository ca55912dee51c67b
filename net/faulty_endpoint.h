// Decorates an endpoint with planned faults, for tests: "it fails at move k", for every k, must
// end every rank with an error that names the cause, never a hang.
#ifndef CROSSOVER_NET_FAULTY_ENDPOINT_H_
#define CROSSOVER_NET_FAULTY_ENDPOINT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "core/clock.h"
#include "net/endpoint.h"

namespace crossover::net {

// A move is a TrySend or TryReceive that moves bytes. "At k" is at the first TrySend or
// TryReceive after k moves, instead of it or, for a delay, before it.
struct FaultPlan {
  std::optional<int64_t> fail_at;  // the inner endpoint is aborted
  absl::Status failure = absl::InternalError("injected fault");

  std::optional<int64_t> die_at;  // without a word, and nothing is done from then on
  // How: CutInprocConnections or CutTcpConnections.
  std::function<void(Endpoint&)> die;

  std::optional<int64_t> delay_at;
  int64_t delay_ns = 0;
};

// `inner` and `clock` are borrowed and outlive this. Threads as for any endpoint.
class FaultyEndpoint final : public Endpoint {
 public:
  FaultyEndpoint(Endpoint& inner, FaultPlan plan, Clock& clock);

  absl::StatusOr<size_t> TrySend(int peer, std::span<const std::byte> data, SendMode mode) override;
  absl::StatusOr<size_t> TryReceive(int peer, std::span<std::byte> into) override;
  absl::Status Wait(std::span<const Interest> interests, int64_t timeout_ns) override;
  void Wake() override { inner_.Wake(); }
  void Publish(const std::string& note) override;
  void Abort(const absl::Status& why) override;

  // So far. A test has been through every k once a run of it makes no more than k moves.
  int64_t moves() const { return moves_; }
  // Whether the plan's failure or death has come about.
  bool has_struck() const { return struck_; }

 private:
  // What is planned for now. Errors: the plan's.
  absl::Status Strike();
  absl::StatusOr<size_t> Count(absl::StatusOr<size_t> moved);

  Endpoint& inner_;
  const FaultPlan plan_;
  Clock& clock_;
  int64_t moves_ = 0;
  bool delayed_ = false;
  bool struck_ = false;
  std::atomic<bool> dead_ = false;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_FAULTY_ENDPOINT_H_
