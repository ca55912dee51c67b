// Recursive halving and doubling (Rabenseifner 2004). With P the largest power of two within N, the
// buffer is P even pieces. Halving, log2 P steps: two ranks that differ in one bit of their number,
// the highest first, share a range of pieces; each sends the half that is the other's and combines
// its own. Rank r ends with piece r. Doubling, log2 P steps, takes the way back: both send what
// they have. Extras are folded (builders.h).
//   2 log2 P steps, and 2 more if N > P. With R_r the sum over k < log2 P of the aligned block of
//   2^k pieces that holds piece r (M (P-1)/P where P divides M), a rank r < P sends and receives
//   M - m_r + R_r (2 (P-1)/P M), one that has an extra M more each, and an extra M each
// Of a piece, the sum is a balanced tree over the ranks, halves of the world first.
// Sent bytes may be borrowed: a half that was sent comes back from the very rank that received it,
// each value after that rank has combined it; so does all that an extra sends. What doubling sends
// is final.
#include "allreduce/algorithms/builders.h"

namespace crossover::allreduce {
namespace {

Segment Span(const std::vector<Segment>& pieces, int first, int count) {
  const Segment& last = pieces[first + count - 1];
  return {pieces[first].offset, last.offset + last.length - pieces[first].offset};
}

}  // namespace

Schedule HalvingDoublingAllReduce(const Place& place, int64_t length) {
  const int power = PowerOfTwoWithin(place.world_size);
  const std::vector<Segment> pieces = CutEvenly(length, power);
  // Of the block of 2 * half pieces around ours, the half with ours in it, and the peer's.
  const auto mine = [&](int half) { return Span(pieces, place.rank & ~(half - 1), half); };
  const auto peers = [&](int half) {
    return Span(pieces, (place.rank ^ half) & ~(half - 1), half);
  };
  Schedule schedule;
  AppendFoldIn(place, length, schedule);
  for (int half = power / 2; half > 0; half /= 2) {
    Step step;
    step.action = Action::kReduce;
    step.completes = half == 1;
    if (place.rank < power) {
      step.sends = {{place.rank ^ half, peers(half)}};
      step.receives = {{place.rank ^ half, mine(half)}};
    }
    schedule.push_back(step);
  }
  for (int half = 1; half < power; half *= 2) {
    Step step;
    if (place.rank < power) {
      step.sends = {{place.rank ^ half, mine(half)}};
      step.receives = {{place.rank ^ half, peers(half)}};
    }
    schedule.push_back(step);
  }
  AppendFoldOut(place, length, schedule);
  return schedule;
}

}  // namespace crossover::allreduce
