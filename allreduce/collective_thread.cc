#include "allreduce/collective_thread.h"

#include <string>
#include <utility>

#include "core/status.h"

namespace crossover::allreduce {

CollectiveThread::CollectiveThread(Communicator& communicator, const Options& options)
    : communicator_(communicator), options_(options), thread_([this] { Run(); }) {}

CollectiveThread::~CollectiveThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  communicator_.endpoint().Wake();
  thread_.join();
}

int64_t CollectiveThread::Queue(const Communicator::Request& request, std::function<void()> done) {
  int64_t number = 0;
  bool thread_may_sleep = false;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({request, std::string(request.name), std::move(done)});
    number = queued_++;
    thread_may_sleep = ended_ + 1 < queued_;  // in Endpoint::Wait, for one before this
  }
  changed_.notify_all();
  if (thread_may_sleep) communicator_.endpoint().Wake();
  return number;
}

bool CollectiveThread::IsDone(int64_t number) {
  const std::lock_guard lock(mutex_);
  return ended_ > number;
}

absl::Status CollectiveThread::Wait(int64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ > number; });
  return status_;
}

void CollectiveThread::Run() {
  bool stop = false;
  while (!stop) {
    absl::Status status = StartQueued(stop);
    if (status.ok() && !in_flight_.empty()) status = MoveOn();
    if (!status.ok()) Fail(status);
  }
}

// Blocks only where nothing is in flight. `stop`: everything is done and no more will come.
absl::Status CollectiveThread::StartQueued(bool& stop) {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      if (in_flight_.empty()) {
        changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        stop = queue_.empty();
      }
      if (queue_.empty() || static_cast<int>(in_flight_.size()) >= options_.in_flight_max) {
        return absl::OkStatus();
      }
      if (!status_.ok()) {  // the rest is dropped
        ended_ += static_cast<int64_t>(queue_.size());
        queue_.clear();
        changed_.notify_all();
        continue;
      }
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task.request.name = task.name;
    in_flight_.push_back({.number = -1, .done = std::move(task.done)});
    ASSIGN_OR_RETURN(in_flight_.back().number, communicator_.Start(task.request));
  }
}

absl::Status CollectiveThread::MoveOn() {
  ASSIGN_OR_RETURN(const bool moved, communicator_.Progress());
  while (!in_flight_.empty() && communicator_.IsDone(in_flight_.front().number)) FinishFront();
  return communicator_.Rest(moved || in_flight_.empty());
}

void CollectiveThread::FinishFront() {
  if (in_flight_.front().done) in_flight_.front().done();
  in_flight_.pop_front();
  {
    const std::lock_guard lock(mutex_);
    ++ended_;
  }
  changed_.notify_all();
}

void CollectiveThread::Fail(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  status_.Update(status);
  ended_ += static_cast<int64_t>(in_flight_.size());
  in_flight_.clear();
  changed_.notify_all();
}

}  // namespace crossover::allreduce
