// What the ranks of a communication test tell each other beside what they measure: over an
// endpoint of their own, so that a result never travels through the collective that it judges.
#ifndef CROSSOVER_BENCH_SHARED_CONTROL_H_
#define CROSSOVER_BENCH_SHARED_CONTROL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/endpoint.h"

namespace crossover::bench {

// Belongs to one thread. All ranks make the same calls in the same order. Every call blocks; an
// error is the endpoint's (it names who was lost), or that a peer was silent for the deadline.
class Control {
 public:
  // Both are borrowed.
  Control(net::Endpoint& endpoint, double deadline_s, const Clock& clock)
      : endpoint_(endpoint), deadline_s_(deadline_s), clock_(clock) {}

  int rank() const { return endpoint_.rank(); }
  int world_size() const { return endpoint_.world_size(); }
  const Clock& clock() const { return clock_; }

  // Everybody's text, by rank.
  absl::StatusOr<std::vector<std::string>> Exchange(const std::string& mine);
  absl::StatusOr<std::vector<std::vector<double>>> Exchange(std::span<const double> mine);
  absl::StatusOr<double> Max(double mine);
  absl::Status Barrier();

  // A raw stream: `bytes` to one peer and as many from another, at once, each as fast as it goes;
  // -1: nobody. Bytes a second of what comes (of what leaves where nothing comes), counted after
  // its first fifth, which leaves out TCP's start.
  absl::StatusOr<double> Stream(int to, int from, int64_t bytes);

 private:
  absl::Status Send(int peer, std::span<const std::byte> data);
  absl::Status Receive(int peer, std::span<std::byte> into);
  absl::Status SendText(int peer, const std::string& text);
  absl::StatusOr<std::string> ReceiveText(int peer);
  absl::Status WaitFor(std::span<const net::Interest> interests, int64_t deadline_ns);
  int64_t DeadlineNs() const;

  net::Endpoint& endpoint_;
  const double deadline_s_;
  const Clock& clock_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_CONTROL_H_
