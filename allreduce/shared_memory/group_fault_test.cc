// Collectives through shared memory when something is wrong: ranks that disagree, are away, are
// slow, or die.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allreduce/shared_memory/group.h"
#include "allreduce/shared_memory/test_support.h"
#include "core/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kMillisecond = 1'000'000;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

Frame SumOf(int64_t count, uint64_t sequence) {
  return FrameOf(Kind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, count, sequence);
}

// One AllReduce of ones.
absl::Status SumOnes(SharedMemoryGroup& group, const Frame& frame) {
  std::vector<double> values(frame.count + 1, 1);  // room for any type
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  return group.Run(frame, bytes, bytes);
}

// Rank 1 of three means another collective than the others: all end with both sides.
void ExpectMismatch(const Frame& usual, const Frame& other, const std::string& difference) {
  const auto statuses = RunRanks(SmallOptions(3), [&](TestRank& rank) {
    if (const absl::Status first = SumOnes(rank.group, SumOf(1000, 1)); !first.ok()) return first;
    const absl::Status status = SumOnes(rank.group, rank.rank == 1 ? other : usual);
    // It stays so.
    EXPECT_EQ(SumOnes(rank.group, usual), status);
    return status;
  });
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(Text(statuses[rank]), AllOf(HasSubstr("rank 1 is in "), HasSubstr(difference)));
    EXPECT_THAT(Text(statuses[rank]), AnyOf(HasSubstr("rank 0 is in"), HasSubstr("rank 2 is in")));
  }
}

TEST(GroupFaultTest, RanksThatDisagreeAllEndWithBothSides) {
  for (const int64_t count : {3, 5000}) {
    ExpectMismatch(SumOf(count, 2), SumOf(count + 1, 2), "differ in count");
    ExpectMismatch(SumOf(count, 2), SumOf(count, 3), "differ in sequence number");
    ExpectMismatch(SumOf(count, 2),
                   FrameOf(Kind::kAllReduce, DataType::kInt32, ReduceOp::kSum, count, 2),
                   "differ in type");
    ExpectMismatch(SumOf(count, 2),
                   FrameOf(Kind::kAllReduce, DataType::kFloat32, ReduceOp::kMax, count, 2),
                   "differ in operation");
    ExpectMismatch(SumOf(count, 2),
                   FrameOf(Kind::kBroadcast, DataType::kFloat32, ReduceOp::kSum, count, 2),
                   "differ in collective");
    Frame renamed = SumOf(count, 2);
    renamed.name = "bucket 4";
    ExpectMismatch(SumOf(count, 2), renamed, "differ in name");
  }
  // One that takes the small path against one that does not, and nothing against something.
  ExpectMismatch(SumOf(64, 2), SumOf(65, 2), "differ in count");
  ExpectMismatch(SumOf(0, 2), SumOf(5000, 2), "differ in count");
}

// Whoever has come is compared although another is still away.
TEST(GroupFaultTest, AMismatchDoesNotWaitForTheOthers) {
  SystemClock clock;
  std::atomic<int> ended{0};
  const auto statuses = RunRanks(SmallOptions(3), [&](TestRank& rank) {
    if (rank.rank == 2) {
      while (ended < 2) clock.SleepNs(kMillisecond);
      return SumOnes(rank.group, SumOf(10, 1));
    }
    const absl::Status status = SumOnes(rank.group, SumOf(10 + rank.rank, 1));
    ++ended;
    return status;
  });
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(Text(statuses[rank]), HasSubstr("differ in count"));
  }
  EXPECT_FALSE(statuses[2].ok());
}

TEST(GroupFaultTest, SilenceNamesWhoIsMissingAndWhatItDid) {
  SystemClock clock;
  SharedMemoryGroup::Options options = SmallOptions(3);
  options.meeting.silence_s = 0.3;
  std::atomic<int> ended{0};
  const auto statuses = RunRanks(options, [&](TestRank& rank) {
    if (rank.rank != 0) {
      if (const absl::Status first = SumOnes(rank.group, SumOf(7, 1)); !first.ok()) return first;
    } else {
      if (const absl::Status first = SumOnes(rank.group, SumOf(7, 1)); !first.ok()) return first;
      while (ended < 2) clock.SleepNs(kMillisecond);
      return absl::OkStatus();
    }
    const absl::Status status = SumOnes(rank.group, SumOf(9, 2));
    ++ended;
    return status;
  });
  EXPECT_TRUE(statuses[0].ok());
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_THAT(Text(statuses[rank]),
                AllOf(HasSubstr("in AllReduce 2 (direct, sum of 9 fp32 \"bucket 3\", step 0) has "
                                "waited for 0.3 s"),
                      HasSubstr("for rank 0 (last in AllReduce 1 (direct, sum of 7 fp32")))
        << statuses[rank];
  }
}

TEST(GroupFaultTest, SilenceOfARankThatHasNotCome) {
  SharedMemoryGroup::Options options = SmallOptions(2);
  options.meeting.silence_s = 0.1;
  const SystemClock clock;
  const os::SharedBufferRegistry registry;
  absl::Status aborted;
  FakeEndpoint endpoint(
      0, 2, [] { return absl::OkStatus(); }, [&](const absl::Status& why) { aborted = why; });
  const auto group = SharedMemoryGroup::Create(options, endpoint, registry, clock);
  ASSERT_TRUE(group.ok());
  const absl::Status status = SumOnes(**group, SumOf(1, 1));
  EXPECT_THAT(Text(status), HasSubstr("for rank 1 (has not come yet)"));
  EXPECT_EQ(aborted, status);
}

TEST(GroupFaultTest, ASlowRankIsWaitedFor) {
  SystemClock clock;
  const auto statuses = RunRanks(SmallOptions(3), [&](TestRank& rank) {
    for (uint64_t sequence = 0; sequence < 3; ++sequence) {
      if (rank.rank == static_cast<int>(sequence)) clock.SleepNs(120 * kMillisecond);
      const absl::Status status = SumOnes(rank.group, SumOf(sequence == 1 ? 5 : 3000, sequence));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

TEST(GroupFaultTest, ACallThatMakesNoSenseEndsAll) {
  for (const auto& [frame, why] :
       {std::pair(FrameOf(Kind::kReduceScatter, DataType::kFloat32, ReduceOp::kSum, 7, 1),
                  "not 2 equal blocks"),
        std::pair(FrameOf(Kind::kBarrier, DataType::kFloat32, ReduceOp::kSum, 7, 1),
                  "a barrier has no values"),
        std::pair(SumOf(int64_t{1} << 61, 1), "more values than there can be")}) {
    const auto statuses = RunRanks(SmallOptions(2), [&](TestRank& rank) {
      return rank.rank == 0 ? rank.group.Run(frame, nullptr, nullptr)
                            : SumOnes(rank.group, SumOf(7, 1));
    });
    EXPECT_THAT(Text(statuses[0]), HasSubstr(why));
    EXPECT_THAT(Text(statuses[1]), AllOf(HasSubstr("rank 0 gave up: "), HasSubstr(why)));
  }
}

TEST(GroupFaultTest, OnlyTheSameGroupIsAttachedTo) {
  const SystemClock clock;
  const os::SharedBufferRegistry registry;
  auto nothing = [] { return absl::OkStatus(); };
  auto ignore = [](const absl::Status&) {};
  FakeEndpoint first(0, 3, nothing, ignore);
  FakeEndpoint second(1, 3, nothing, ignore);
  const SharedMemoryGroup::Options options = SmallOptions(2);
  const auto group = SharedMemoryGroup::Create(options, first, registry, clock);
  ASSERT_TRUE(group.ok());
  const std::string descriptor = (*group)->descriptor();
  auto attach = [&](const std::string& text, const SharedMemoryGroup::Options& ours) {
    return Text(SharedMemoryGroup::Attach(text, ours, second, registry, clock).status());
  };
  SharedMemoryGroup::Options other = options;
  other.job = 9;
  EXPECT_THAT(attach(descriptor, other), HasSubstr("another job"));
  other = options;
  other.group = 9;
  EXPECT_THAT(attach(descriptor, other), HasSubstr("group 0"));
  other.ranks = {0, 1, 2};
  EXPECT_THAT(attach(descriptor, other), HasSubstr("for 3 ranks we expect"));
  EXPECT_THAT(attach("nonsense", options), HasSubstr("no address of a shared buffer"));
  const auto buffer = os::SharedBuffer::Create("zeros", group->get() == nullptr ? 0 : 1 << 20);
  ASSERT_TRUE(buffer.ok());
  os::SharedBufferAddress zeros = buffer->address();
  zeros.bytes = os::ParseSharedBufferAddress(descriptor)->bytes;
  EXPECT_THAT(attach(os::ToString(zeros), options), HasSubstr("another job"));
  EXPECT_EQ(attach(descriptor, options), "");
  EXPECT_THAT(attach(descriptor, options),
              HasSubstr(absl::StrCat("place 1 is taken by process ", getpid())));
}

// A peer that announces values where there are none.
TEST(GroupFaultTest, ALocationOutsideItsBufferIsRefused) {
  SharedMemoryGroup::Options options = SmallOptions(2);
  const SystemClock clock;
  os::SharedBufferRegistry registry;
  absl::Status aborted;
  FakeEndpoint endpoint(
      0, 2, [] { return absl::OkStatus(); }, [&](const absl::Status& why) { aborted = why; });
  const auto group = SharedMemoryGroup::Create(options, endpoint, registry, clock);
  ASSERT_TRUE(group.ok());
  const auto region = Region::Attach((*group)->descriptor(), {options.job, 0, 2, 256, 4096});
  ASSERT_TRUE(region.ok()) << region.status();
  ASSERT_TRUE(region->TakePlace(1).ok());
  const auto values = registry.Allocate("values", 4000);
  ASSERT_TRUE(values.ok());
  Frame frame = SumOf(1000, 1);
  frame.algorithm = Algorithm::kDirect;
  frame.job = options.job;
  frame.sender = 1;
  Meeting::Options impatient = options.meeting;
  impatient.silence_s = 0.1;
  FakeEndpoint other(
      1, 2, [] { return absl::OkStatus(); }, [](const absl::Status&) {});
  Meeting liar(*region, options.ranks, impatient, other, clock);
  Announcement& lie = liar.Begin();
  lie.from = lie.into = {registry.Find(*values, 4000)->buffer, 8};
  std::thread thread([&] { static_cast<void>(liar.Announce(frame)); });
  const absl::Status status = (*group)->Run(SumOf(1000, 1), *values, *values);
  thread.join();
  EXPECT_THAT(Text(status), HasSubstr("4000 bytes at 8 do not lie in its buffer of 4000"));
  EXPECT_EQ(aborted, status);
}

// What processes of a test share: made before they are forked.
struct Board {
  std::atomic<bool> ready;
  std::atomic<int> done[8];  // collectives, by rank
  std::atomic<bool> dead[8];
  char descriptor[200];
};

// Ranks as processes. `work` gives a child's exit code.
class Processes {
 public:
  using Work = std::function<int(int rank, SharedMemoryGroup&, os::SharedBufferRegistry&)>;
  explicit Processes(const SharedMemoryGroup::Options& options) : options_(options) {
    auto buffer = os::SharedBuffer::Create("board", sizeof(Board));
    EXPECT_TRUE(buffer.ok());
    buffer_ = std::make_unique<os::SharedBuffer>(*std::move(buffer));
  }
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid > 0) kill(pid, SIGKILL);
    }
  }
  Board& board() { return *reinterpret_cast<Board*>(buffer_->data()); }
  void Start(const Work& work) {
    for (const int rank : options_.ranks) {
      const pid_t pid = fork();
      if (pid == 0) _exit(Child(rank, work));
      pids_.push_back(pid);
    }
  }
  void Kill(int rank) {
    kill(pids_[rank], SIGKILL);
    waitpid(pids_[rank], nullptr, 0);
    pids_[rank] = 0;
    board().dead[rank] = true;
  }
  int ExitCode(int rank) {
    int status = 0;
    waitpid(pids_[rank], &status, 0);
    pids_[rank] = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void WaitUntil(const std::function<bool()>& condition) {
    while (!condition()) clock_.SleepNs(kMillisecond);
  }

 private:
  absl::Status FirstDead() {
    for (int rank = 0; rank < 8; ++rank) {
      if (board().dead[rank]) return absl::UnavailableError(absl::StrCat("rank ", rank, " died"));
    }
    return absl::OkStatus();
  }
  int Child(int rank, const Work& work) {
    os::SharedBufferRegistry registry;
    FakeEndpoint endpoint(
        rank, static_cast<int>(options_.ranks.size()), [this] { return FirstDead(); },
        [](const absl::Status&) {});
    absl::StatusOr<std::unique_ptr<SharedMemoryGroup>> group;
    if (rank == 0) {
      group = SharedMemoryGroup::Create(options_, endpoint, registry, clock_);
      if (!group.ok()) return 90;
      std::strcpy(board().descriptor, (*group)->descriptor().c_str());
      board().ready = true;
    } else {
      WaitUntil([this] { return board().ready.load(); });
      group = SharedMemoryGroup::Attach(board().descriptor, options_, endpoint, registry, clock_);
      if (!group.ok()) return 91;
    }
    return work(rank, **group, registry);
  }

  const SharedMemoryGroup::Options options_;
  SystemClock clock_;
  std::unique_ptr<os::SharedBuffer> buffer_;
  std::vector<pid_t> pids_;
};

// Sums in turn of all three paths; gives 0, or the number of the first that is wrong.
int SumsOfAllPaths(int rank, int ranks, SharedMemoryGroup& group,
                   os::SharedBufferRegistry& registry) {
  constexpr int64_t kCount = 30'000;
  const auto room = registry.Allocate("values", kCount * sizeof(int32_t));
  if (!room.ok()) return 92;
  std::vector<int32_t> own(kCount);
  for (int round = 1; round <= 30; ++round) {
    const bool shared = round % 3 == 0;
    auto* const values = shared ? reinterpret_cast<int32_t*>(*room) : own.data();
    const int64_t count = round % 3 == 1 ? 60 : kCount - round;
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<int32_t>(i * round + rank);
    auto* const bytes = reinterpret_cast<std::byte*>(values);
    const Frame frame = FrameOf(Kind::kAllReduce, DataType::kInt32, ReduceOp::kSum, count,
                                static_cast<uint64_t>(round));
    if (!group.Run(frame, bytes, bytes).ok()) return round;
    for (int64_t i = 0; i < count; ++i) {
      if (values[i] != i * round * ranks + ranks * (ranks - 1) / 2) return round;
    }
  }
  return group.path_counts().fused == 10 && group.path_counts().staged == 10 ? 0 : 93;
}

TEST(GroupProcessTest, ProcessesSumThroughAllPaths) {
  for (const int ranks : {2, 3, 4, 8}) {
    Processes processes(SmallOptions(ranks));
    processes.Start([&](int rank, SharedMemoryGroup& group, os::SharedBufferRegistry& registry) {
      return SumsOfAllPaths(rank, ranks, group, registry);
    });
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(processes.ExitCode(rank), 0) << rank;
  }
}

// Rank 1 stops for ever after `before` collectives and is killed there; the others end with that.
void ExpectDeathIsNoticed(int before, int64_t count) {
  Processes processes(SmallOptions(3));
  processes.Start([&](int rank, SharedMemoryGroup& group, os::SharedBufferRegistry&) {
    for (int k = 0; k <= before; ++k) {
      if (rank == 1 && k == before) pause();
      const absl::Status status = SumOnes(group, SumOf(count, static_cast<uint64_t>(k)));
      if (!status.ok()) return k == before && Text(status) == "rank 1 died" ? 0 : 1;
      ++processes.board().done[rank];
    }
    return 2;
  });
  processes.WaitUntil(
      [&] { return processes.board().ready && processes.board().done[1] == before; });
  processes.Kill(1);
  EXPECT_EQ(processes.ExitCode(0), 0);
  EXPECT_EQ(processes.ExitCode(2), 0);
}

TEST(GroupProcessTest, ADeathBeforeTheFirstCollective) { ExpectDeathIsNoticed(0, 100); }

TEST(GroupProcessTest, ADeathBetweenCollectives) {
  ExpectDeathIsNoticed(1, 10);
  ExpectDeathIsNoticed(3, 5000);
}

// Killed at any moment of a stream of collectives: the others end with that, or not at all before.
TEST(GroupProcessTest, ADeathDuringACollective) {
  for (int trial = 0; trial < 10; ++trial) {
    Processes processes(SmallOptions(3));
    processes.Start([&](int rank, SharedMemoryGroup& group, os::SharedBufferRegistry&) {
      for (uint64_t k = 0;; ++k) {
        const absl::Status status = SumOnes(group, SumOf(20'000, k));
        if (!status.ok()) return Text(status) == "rank 1 died" ? 0 : 1;
        ++processes.board().done[rank];
      }
    });
    processes.WaitUntil([&] { return processes.board().done[1] > 2 * trial; });
    processes.Kill(1);
    EXPECT_EQ(processes.ExitCode(0), 0);
    EXPECT_EQ(processes.ExitCode(2), 0);
  }
}

}  // namespace
}  // namespace crossover::allreduce
