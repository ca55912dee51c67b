#include "allreduce/shared_memory/test_support.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"

namespace crossover::allreduce {

void FakeWorld::GiveUp(int rank, const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  if (!why_.ok()) return;
  rank_ = rank;
  why_ = why;
}

absl::Status FakeWorld::StatusFor(int rank) {
  const std::lock_guard lock(mutex_);
  if (why_.ok() || rank == rank_) return why_;
  return absl::AbortedError(absl::StrCat("rank ", rank_, " gave up: ", why_.message()));
}

FakeEndpoint::FakeEndpoint(int rank, int world_size, std::function<absl::Status()> look,
                           std::function<void(const absl::Status&)> abort)
    : Endpoint(rank, world_size, false), look_(std::move(look)), abort_(std::move(abort)) {}

absl::StatusOr<size_t> FakeEndpoint::TrySend(int, std::span<const std::byte>, net::SendMode) {
  return absl::UnimplementedError("nothing moves here");
}

absl::StatusOr<size_t> FakeEndpoint::TryReceive(int, std::span<std::byte>) {
  return absl::UnimplementedError("nothing moves here");
}

SharedMemoryGroup::Options SmallOptions(int world_size) {
  SharedMemoryGroup::Options options;
  for (int rank = 0; rank < world_size; ++rank) options.ranks.push_back(rank);
  options.job = 0x1234;
  options.small_bytes_max = 256;
  options.slot_bytes = 4096;
  options.stream_bytes_min = 16 << 10;
  options.meeting.spin_rounds = 20;
  options.meeting.yield = true;
  options.meeting.silence_s = 30;
  return options;
}

std::vector<absl::Status> RunRanks(const SharedMemoryGroup::Options& options,
                                   const std::function<absl::Status(TestRank&)>& work) {
  const SystemClock clock;
  FakeWorld world;
  const auto size = options.ranks.size();
  std::vector<std::unique_ptr<FakeEndpoint>> endpoints;
  std::vector<os::SharedBufferRegistry> registries(size);
  std::vector<absl::Status> statuses(size);
  for (const int rank : options.ranks) {
    endpoints.push_back(std::make_unique<FakeEndpoint>(
        rank, options.ranks.back() + 1, [&world, rank] { return world.StatusFor(rank); },
        [&world, rank](const absl::Status& why) { world.GiveUp(rank, why); }));
  }
  auto first = SharedMemoryGroup::Create(options, *endpoints[0], registries[0], clock);
  CROSSOVER_CHECK(first.ok(), "memory can be shared");
  const std::string descriptor = (*first)->descriptor();
  std::vector<std::thread> threads;
  for (size_t member = 0; member < size; ++member) {
    threads.emplace_back([&, member] {
      absl::StatusOr<std::unique_ptr<SharedMemoryGroup>> attached;
      if (member > 0) {
        attached = SharedMemoryGroup::Attach(descriptor, options, *endpoints[member],
                                             registries[member], clock);
        if (!attached.ok()) {
          statuses[member] = attached.status();
          return;
        }
      }
      TestRank rank = {options.ranks[member], member == 0 ? **first : **attached,
                       registries[member]};
      statuses[member] = work(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

Frame FrameOf(Kind kind, DataType type, ReduceOp op, int64_t count, uint64_t sequence) {
  Frame frame;
  frame.kind = kind;
  frame.type = type;
  frame.op = op;
  frame.count = static_cast<uint64_t>(count);
  frame.sequence = sequence;
  frame.name = "bucket 3";
  return frame;
}

}  // namespace crossover::allreduce
