// An endpoint that moves nothing and knows who has died or given up, and ranks in threads, for this
// folder's tests.
#ifndef CROSSOVER_ALLREDUCE_SHARED_MEMORY_TEST_SUPPORT_H_
#define CROSSOVER_ALLREDUCE_SHARED_MEMORY_TEST_SUPPORT_H_

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/shared_memory/group.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {

// What all endpoints of a test know. Thread-safe.
class FakeWorld {
 public:
  void GiveUp(int rank, const absl::Status& why);
  absl::Status StatusFor(int rank);

 private:
  std::mutex mutex_;
  int rank_ = -1;
  absl::Status why_;
};

class FakeEndpoint final : public net::Endpoint {
 public:
  // `look` is asked by every Wait; `abort` is told.
  FakeEndpoint(int rank, int world_size, std::function<absl::Status()> look,
               std::function<void(const absl::Status&)> abort);
  absl::StatusOr<size_t> TrySend(int, std::span<const std::byte>, net::SendMode) override;
  absl::StatusOr<size_t> TryReceive(int, std::span<std::byte>) override;
  absl::Status Wait(std::span<const net::Interest>, int64_t) override { return look_(); }
  void Wake() override {}
  void Publish(const std::string&) override {}
  void Abort(const absl::Status& why) override { abort_(why); }

 private:
  std::function<absl::Status()> look_;
  std::function<void(const absl::Status&)> abort_;
};

// Small slots, so that small buffers take many; ranks 0..N-1.
SharedMemoryGroup::Options SmallOptions(int world_size);

// What a rank of a test has.
struct TestRank {
  int rank;
  SharedMemoryGroup& group;
  os::SharedBufferRegistry& registry;
};
// Runs `work` as every rank of the options, each in a thread of its own, and gives their statuses.
std::vector<absl::Status> RunRanks(const SharedMemoryGroup::Options& options,
                                   const std::function<absl::Status(TestRank&)>& work);

Frame FrameOf(Kind kind, DataType type, ReduceOp op, int64_t count, uint64_t sequence);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SHARED_MEMORY_TEST_SUPPORT_H_
