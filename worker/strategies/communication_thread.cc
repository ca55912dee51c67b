#include "worker/strategies/communication_thread.h"

#include <utility>

#include "core/check.h"

namespace crossover::worker {

CommunicationThread::CommunicationThread(size_t capacity)
    : capacity_(capacity), thread_([this] { Run(); }) {}

CommunicationThread::~CommunicationThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

int64_t CommunicationThread::Queue(std::function<absl::Status()> task) {
  int64_t number;
  {
    std::lock_guard lock(mutex_);
    CROSSOVER_CHECK(waiting_.size() < capacity_, "a step queues each bucket once");
    waiting_.push_back(std::move(task));
    number = queued_++;
  }
  changed_.notify_all();
  return number;
}

bool CommunicationThread::IsDone(int64_t number) {
  std::lock_guard lock(mutex_);
  return done_ > number;
}

absl::Status CommunicationThread::Wait(int64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ > number; });
  return status_;
}

void CommunicationThread::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::function<absl::Status()> task = std::move(waiting_.front());
    waiting_.pop_front();
    if (status_.ok()) {
      lock.unlock();
      absl::Status status = task();
      lock.lock();
      status_.Update(status);
    }
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace crossover::worker
