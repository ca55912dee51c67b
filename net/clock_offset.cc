#include "net/clock_offset.h"

namespace crossover::net {
namespace {

bool InRange(int64_t time_ns) {
  return time_ns >= 0 && time_ns <= ClockOffsetEstimator::kTimeNsMax;
}

}  // namespace

void ClockOffsetEstimator::Add(int64_t send_ns, int64_t receive_ns, int64_t remote_ns) {
  if (!InRange(send_ns) || !InRange(receive_ns) || !InRange(remote_ns)) return;
  if (receive_ns < send_ns) return;
  const int64_t round_trip_ns = receive_ns - send_ns;
  const int64_t middle_ns = send_ns + round_trip_ns / 2;
  while (!samples_.empty() && samples_.back().round_trip_ns >= round_trip_ns) samples_.pop_back();
  samples_.push_back({receive_ns, round_trip_ns, remote_ns - middle_ns});
  while (samples_.front().receive_ns < receive_ns - kWindowNs) samples_.pop_front();
}

ClockOffset ClockOffsetEstimator::Best() const {
  if (samples_.empty()) return {};
  // Rounded up: half of an odd round trip is still a bound.
  return {samples_.front().offset_ns, (samples_.front().round_trip_ns + 1) / 2};
}

}  // namespace crossover::net
