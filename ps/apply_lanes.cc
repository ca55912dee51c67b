#include "ps/apply_lanes.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace crossover::ps {

class ApplyLanes::Lane {
 public:
  Lane() : thread_([this] { Run(); }) {}
  ~Lane() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void Post(Task task) {
    bool idle = false;
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(task));
      idle = std::exchange(idle_, false);
    }
    if (idle) changed_.notify_one();
  }

 private:
  void Run() {
    std::vector<Task> tasks;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        while (posted_.empty() && !ending_) {
          idle_ = true;
          changed_.wait(lock);
        }
        if (posted_.empty()) return;
        tasks.swap(posted_);
      }
      // Each is let go of as soon as it has run: it holds what was received.
      for (Task& task : tasks) std::exchange(task, nullptr)();
      tasks.clear();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> posted_;
  bool idle_ = false;  // it sleeps, and nobody has woken it yet
  bool ending_ = false;
  std::thread thread_;  // the last: it uses all of the above
};

ApplyLanes::ApplyLanes(int threads) {
  for (int lane = 0; lane < threads; ++lane) lanes_.push_back(std::make_unique<Lane>());
}

ApplyLanes::~ApplyLanes() = default;

void ApplyLanes::Post(int lane, Task task) {
  if (lanes_.empty()) return task();
  lanes_[lane]->Post(std::move(task));
}

void ApplyLanes::PostAfterAll(Task task) {
  if (lanes_.empty()) return task();
  auto missing = std::make_shared<std::atomic<size_t>>(lanes_.size());
  auto shared_task = std::make_shared<Task>(std::move(task));
  for (const auto& lane : lanes_) {
    lane->Post([missing, shared_task] {
      if (missing->fetch_sub(1) == 1) (*shared_task)();
    });
  }
}

int LaneThreads(int wanted, int cores) {
  constexpr int kCoresMin = 8;
  if (wanted >= 0) return wanted;
  return cores >= kCoresMin ? 2 : 0;
}

std::vector<int> AssignToLanes(std::span<const int64_t> bytes, int lanes) {
  std::vector<int64_t> assigned_bytes(lanes);
  std::vector<int> assigned;
  for (const int64_t entry_bytes : bytes) {
    const auto least = std::min_element(assigned_bytes.begin(), assigned_bytes.end());
    *least += entry_bytes;
    assigned.push_back(static_cast<int>(least - assigned_bytes.begin()));
  }
  return assigned;
}

}  // namespace crossover::ps
