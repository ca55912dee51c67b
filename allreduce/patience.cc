#include "allreduce/patience.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>

namespace crossover::allreduce {
namespace {

// Ranks of a host that take turns hold a core for some microseconds each.
constexpr int64_t kLongYieldNs = 200'000;
constexpr int kPenaltyMax = 1023;
// So many in a row show that the others have their cores again.
constexpr int kPaidInARow = 32;

void PauseProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

bool Patience::LookAgain() {
  if (blocks_) return false;
  if (looks_ == 0 && penalty_left_ > 0) {
    --penalty_left_;
    blocks_ = true;
    return false;
  }
  if (looks_ >= looks_max_) {
    GiveUp();
    return false;
  }
  ++looks_;
  if (!yield_) {
    PauseProcessor();
    return true;
  }
  const int64_t begin_ns = clock_.NowNs();
  sched_yield();
  if (clock_.NowNs() - begin_ns > kLongYieldNs) GiveUp();
  return true;
}

void Patience::Found() {
  if (!blocks_ && looks_ > 0 && ++paid_ >= kPaidInARow) penalty_ = 0;
  blocks_ = false;
  looks_ = 0;
}

void Patience::GiveUp() {
  blocks_ = true;
  paid_ = 0;
  penalty_ = std::min(2 * penalty_ + 1, kPenaltyMax);
  penalty_left_ = penalty_;
}

}  // namespace crossover::allreduce
