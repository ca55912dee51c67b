// Estimates the offset between two clocks from request and reply pairs, as NTP
// does (RFC 5905, section 8): the remote time lies somewhere between sending and
// receiving, so the middle is off by at most half the round trip, and the
// shortest round trip bounds the error best. Pure; not thread-safe.
#ifndef CROSSOVER_NET_CLOCK_OFFSET_H_
#define CROSSOVER_NET_CLOCK_OFFSET_H_

#include <cstdint>
#include <deque>

namespace crossover::net {

struct ClockOffset {
  int64_t offset_ns = 0;  // rendezvous time = own time + offset
  int64_t error_ns = 0;   // half the shortest round trip seen
};

// Keeps the best of the last minute, because clocks drift; what is older counts
// only until something newer comes.
class ClockOffsetEstimator {
 public:
  static constexpr int64_t kWindowNs = 60'000'000'000;
  static constexpr int64_t kTimeNsMax = int64_t{1} << 62;  // about 146 years

  // One exchange: own clock at sending and receiving, the other's in between.
  // Ignored if received before sent, or if a time is not from 0 to kTimeNsMax (two of
  // the three have been on the wire).
  void Add(int64_t send_ns, int64_t receive_ns, int64_t remote_ns);
  // Zeros before the first exchange.
  ClockOffset Best() const;

 private:
  struct Sample {
    int64_t receive_ns;
    int64_t round_trip_ns;
    int64_t offset_ns;
  };
  // By age, round trips ascending: the head is the best, and each later one will
  // be once those before it are too old.
  std::deque<Sample> samples_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_CLOCK_OFFSET_H_
