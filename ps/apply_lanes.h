// The threads that sum and apply what workers push: each part belongs to one of a few lanes, whose
// tasks run one after the other in the order in which they were posted. So parts need no lock
// among each other, and a lane none for its parts.
#ifndef CROSSOVER_PS_APPLY_LANES_H_
#define CROSSOVER_PS_APPLY_LANES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace crossover::ps {

// Thread-safe. Tasks may post.
class ApplyLanes {
 public:
  using Task = std::function<void()>;

  // A thread for each lane. 0: one lane without a thread, whose tasks Post runs itself; all posts
  // must then come from one thread.
  explicit ApplyLanes(int threads);
  // Runs what was posted, then ends the threads.
  ~ApplyLanes();

  int count() const { return lanes_.empty() ? 1 : static_cast<int>(lanes_.size()); }
  void Post(int lane, Task task);
  // Runs `task` once every lane has run what was posted to it before.
  void PostAfterAll(Task task);

 private:
  class Lane;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

// How many threads a server has for its lanes: as many as wanted (the job's ps.apply_threads), or
// by the machine's cores where that is -1. On few cores handing parts over costs more than it wins.
int LaneThreads(int wanted, int cores);

// Which lane each of so many bytes belongs to, so that all have nearly the same: the difference
// is at most one entry's.
std::vector<int> AssignToLanes(std::span<const int64_t> bytes, int lanes);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_APPLY_LANES_H_
