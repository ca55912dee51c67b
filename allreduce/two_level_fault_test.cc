// AllReduce in two levels when something is wrong: whatever it is, and on whichever host, every
// rank ends with an error that names the cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "allreduce/communicator.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "core/status.h"
#include "net/faulty_endpoint.h"
#include "net/inproc_endpoint.h"
#include "net/tcp_endpoint.h"
#include "net/tcp_test_support.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {
namespace {

using testing::HasSubstr;

constexpr int64_t kCount = 5000;  // more than travels with an announcement
constexpr int64_t kMillisecond = 1'000'000;

// Rank 0 has its host to itself; rank 1 owns all values of the other host, 2 and 3 none.
const std::vector<int> kHosts = {0, 1, 1, 1};
constexpr int kRanks = 4;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

absl::Status Sum(SharingRank& rank, int64_t count, absl::string_view name = "values") {
  std::vector<float> values(count, 1);
  RETURN_IF_ERROR(rank.communicator().AllReduceSum(values, name));
  for (const float value : values) {
    if (value != static_cast<float>(rank.communicator().world_size())) {
      return absl::DataLossError("a wrong sum");
    }
  }
  return absl::OkStatus();
}

// A collective, and a barrier so that everyone learns of a fault that comes when a rank owes
// nothing to some. `past`: the collective has ended here.
absl::Status Work(net::Endpoint& endpoint, const Clock& clock, std::atomic<bool>* past) {
  ASSIGN_OR_RETURN(const auto rank, SharingRank::Open(endpoint, {.host_of = kHosts}, clock));
  RETURN_IF_ERROR(Sum(*rank, kCount));
  if (past != nullptr) *past = true;
  return rank->communicator().Run({.kind = Kind::kBarrier, .name = "", .algorithm = {}});
}

// A rank that has its host to itself, an owner and one that owns nothing have their fault at each
// of their moves in turn, set-up included.
void AtEveryMove(const std::function<void(net::FaultPlan&, int64_t move)>& plan_fault,
                 const std::function<void(int faulty, const absl::Status&)>& expect) {
  SystemClock clock;
  for (const int faulty : {0, 1, 3}) {
    for (int64_t move = 0;; ++move) {
      SCOPED_TRACE(testing::Message() << "rank " << faulty << " at move " << move);
      std::atomic<bool> struck = false;
      std::atomic<bool> past = false;
      Endpoints endpoints = net::MakeInprocEndpoints(kRanks, clock);
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& inner) {
        const bool ours = inner.rank() == faulty;
        net::FaultPlan plan;
        if (ours) plan_fault(plan, move);
        net::FaultyEndpoint endpoint(inner, plan, clock);
        const absl::Status status = Work(endpoint, clock, ours ? &past : nullptr);
        if (ours) struck = endpoint.has_struck();
        return status;
      });
      if (!struck) {
        EXPECT_GT(move, 10) << "too few moves to prove anything";
        break;  // all moves have had their turn
      }
      for (int rank = 0; rank < kRanks; ++rank) {
        // In the barrier a rank may have all that it waits for before the fault.
        if (past && statuses[rank].ok()) continue;
        EXPECT_FALSE(statuses[rank].ok()) << "rank " << rank;
        if (rank != faulty) expect(faulty, statuses[rank]);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(TwoLevelFaultTest, EveryMoveThatFailsEndsEveryRank) {
  AtEveryMove(
      [](net::FaultPlan& plan, int64_t move) {
        plan.fail_at = move;
        plan.failure = absl::InternalError("the cable was cut");
      },
      [](int, const absl::Status& status) {
        EXPECT_THAT(Text(status), HasSubstr("the cable was cut"));
      });
}

TEST(TwoLevelFaultTest, ARankThatDiesWithoutAWordAtEveryMoveIsNamed) {
  AtEveryMove(
      [](net::FaultPlan& plan, int64_t move) {
        plan.die_at = move;
        plan.die = net::CutInprocConnections;
      },
      [](int dead, const absl::Status& status) {
        EXPECT_THAT(Text(status), HasSubstr(absl::StrCat("rank ", dead)));
      });
}

// What one rank does differently from the others, and how each side is described.
struct Difference {
  const char* name;
  void (*change)(Communicator::Request& request);
  const char* theirs;
  const char* ours;
};
class TwoLevelMismatchTest : public testing::TestWithParam<Difference> {};

TEST_P(TwoLevelMismatchTest, EndsEveryRankWithBothSides) {
  SystemClock clock;
  for (const int64_t count : {20, 1000}) {
    for (int odd = 0; odd < kRanks; ++odd) {
      SCOPED_TRACE(testing::Message() << "rank " << odd << ", " << count << " values");
      Endpoints endpoints = net::MakeTcpEndpoints(kRanks, clock);
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
        ASSIGN_OR_RETURN(const auto rank, SharingRank::Open(endpoint, {.host_of = kHosts}, clock));
        std::vector<double> values(kRanks * count);
        std::vector<double> results(kRanks * count);
        Communicator::Request request = {.count = count,
                                         .input = values.data(),
                                         .output = results.data(),
                                         .name = "bucket 3",
                                         .algorithm = {}};
        if (endpoint.rank() == odd) GetParam().change(request);
        return rank->communicator().Run(request);
      });
      for (const absl::Status& status : statuses) {
        EXPECT_FALSE(status.ok());
        EXPECT_THAT(Text(status), HasSubstr(absl::StrCat("rank ", odd)));
        EXPECT_THAT(Text(status), HasSubstr(GetParam().theirs));
        EXPECT_THAT(Text(status), HasSubstr(GetParam().ours));
      }
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TwoLevelMismatchTest,
    testing::Values(
        Difference{"Count", [](auto& request) { --request.count; }, "9 fp32", "0 fp32"},
        Difference{"Empty", [](auto& request) { request.count = 0; }, "sum of 0 fp32", "0 fp32"},
        Difference{"Type", [](auto& request) { request.type = DataType::kFloat64; }, "fp64",
                   "fp32"},
        Difference{"Op", [](auto& request) { request.op = ReduceOp::kAverage; }, "average", "sum"},
        Difference{"Name", [](auto& request) { request.name = "bucket 4"; }, "bucket 4",
                   "bucket 3"},
        // These go over the endpoint alone: mates that wait in shared memory hear of it in notes.
        Difference{"Algorithm", [](auto& request) { request.algorithm = Algorithm::kRing; }, "ring",
                   "hierarchical"},
        Difference{"Kind", [](auto& request) { request.kind = Kind::kAllGather; }, "AllGather",
                   "AllReduce"}),
    [](const auto& info) { return std::string(info.param.name); });

// A rank of each host waits over the endpoint for one that waits in memory for it: only what those
// in memory say and hear in notes ends them.
TEST(TwoLevelFaultTest, RanksThatWaitInMemoryHearOfOthersThatWaitElsewhere) {
  SystemClock clock;
  Endpoints endpoints = net::MakeTcpEndpoints(4, clock);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    ASSIGN_OR_RETURN(const auto rank,
                     SharingRank::Open(endpoint, {.host_of = {0, 0, 1, 1}}, clock));
    std::vector<float> values(kCount);
    const bool odd = endpoint.rank() % 2 == 0;
    return rank->communicator().Run(
        {.kind = Kind::kAllReduce,
         .count = kCount,
         .input = values.data(),
         .output = values.data(),
         .name = "values",
         .algorithm = odd ? Algorithm::kRecursiveDoubling : Algorithm::kHierarchical});
  });
  for (const absl::Status& status : statuses) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(Text(status), HasSubstr("recursive_doubling"));
    EXPECT_THAT(Text(status), HasSubstr("in shared memory"));
  }
}

// Every rank in turn is alive and elsewhere.
TEST(TwoLevelFaultTest, ARankThatNeverComesIsMissedByName) {
  SystemClock clock;
  for (int missing = 0; missing < kRanks; ++missing) {
    SCOPED_TRACE(missing);
    Endpoints endpoints = net::MakeTcpEndpoints(kRanks, clock);
    std::atomic<int> failed = 0;
    const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
      ASSIGN_OR_RETURN(
          const auto rank,
          SharingRank::Open(endpoint, {.host_of = kHosts, .silence_s = 1, .ring_grace_s = 0.5},
                            clock));
      if (endpoint.rank() == missing) {
        while (failed < kRanks - 1) clock.SleepNs(kMillisecond);
        return absl::OkStatus();
      }
      const absl::Status status = Sum(*rank, kCount, "gradients");
      ++failed;
      return status;
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == missing) continue;
      EXPECT_THAT(Text(statuses[rank]), HasSubstr(absl::StrCat("rank ", missing, " (")));
      EXPECT_THAT(Text(statuses[rank]), HasSubstr("\"gradients\""));
    }
  }
}

// Takes a few bytes at a time, each time a while after the last.
class SlowEndpoint final : public net::Endpoint {
 public:
  SlowEndpoint(net::Endpoint& inner, Clock& clock)
      : Endpoint(inner.rank(), inner.world_size(), false), inner_(inner), clock_(clock) {}
  void BeSlow() { slow_ = true; }
  absl::StatusOr<size_t> TrySend(int peer, std::span<const std::byte> data,
                                 net::SendMode mode) override {
    if (!slow_) return inner_.TrySend(peer, data, mode);
    clock_.SleepNs(20 * kMillisecond);
    return inner_.TrySend(peer, data.first(std::min<size_t>(data.size(), 400)), mode);
  }
  absl::StatusOr<size_t> TryReceive(int peer, std::span<std::byte> into) override {
    return inner_.TryReceive(peer, into);
  }
  absl::Status Wait(std::span<const net::Interest> interests, int64_t timeout_ns) override {
    absl::Status status = inner_.Wait(interests, timeout_ns);
    for (int peer = 0; peer < world_size(); ++peer) KeepNote(peer, inner_.NoteOf(peer));
    return status;
  }
  void Wake() override { inner_.Wake(); }
  void Publish(const std::string& note) override { inner_.Publish(note); }
  void Abort(const absl::Status& why) override { inner_.Abort(why); }

 private:
  net::Endpoint& inner_;
  Clock& clock_;
  bool slow_ = false;
};

// Between hosts bytes move for longer than anyone may be silent: mates wait for their owner.
TEST(TwoLevelFaultTest, ASlowNetworkIsNoSilence) {
  SystemClock clock;
  std::atomic<int64_t> took_ns = 0;
  Endpoints endpoints = net::MakeInprocEndpoints(kRanks, clock);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& inner) {
    SlowEndpoint endpoint(inner, clock);
    ASSIGN_OR_RETURN(
        const auto rank,
        SharingRank::Open(endpoint, {.host_of = kHosts, .silence_s = 0.6, .ring_grace_s = 0},
                          clock));
    endpoint.BeSlow();
    const int64_t begin_ns = clock.NowNs();
    const absl::Status status = Sum(*rank, 2 * kCount);
    took_ns = clock.NowNs() - begin_ns;
    return status;
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(took_ns, 1'000 * kMillisecond) << "too fast to prove anything";
}

TEST(TwoLevelFaultTest, AnAbortFromAnotherThreadEndsBothLevels) {
  SystemClock clock;
  for (int aborted = 0; aborted < kRanks - 1; ++aborted) {
    Endpoints endpoints = net::MakeTcpEndpoints(kRanks, clock);
    net::Endpoint& victim = *endpoints[aborted];
    const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
      ASSIGN_OR_RETURN(const auto rank, SharingRank::Open(endpoint, {.host_of = kHosts}, clock));
      if (endpoint.rank() == kRanks - 1) {  // what the others wait for until then
        clock.SleepNs(20 * kMillisecond);
        victim.Abort(absl::CancelledError("the run was aborted"));
        absl::Status status;
        while (status.ok()) status = endpoint.Wait({}, 10 * kMillisecond);
        return status;
      }
      return Sum(*rank, kCount);
    });
    for (const absl::Status& status : statuses) {
      EXPECT_THAT(Text(status), HasSubstr("the run was aborted"));
    }
  }
}

// What processes of a test share: made before they are forked.
struct Board {
  std::atomic<int> done[8];  // collectives, by rank
};

// Ranks as processes over TCP, two hosts by their word.
class Processes {
 public:
  using Work = std::function<absl::Status(SharingRank&, std::atomic<int>& done)>;
  // Each child ends with 0 if `expect` likes how its work ended.
  Processes(const std::vector<int>& host_of, const Work& work,
            const std::function<bool(const absl::Status&)>& expect) {
    auto buffer = os::SharedBuffer::Create("board", sizeof(Board));
    EXPECT_TRUE(buffer.ok());
    buffer_ = std::make_unique<os::SharedBuffer>(*std::move(buffer));
    net::TestWorld world(static_cast<int>(host_of.size()));
    for (int rank = 0; rank < static_cast<int>(host_of.size()); ++rank) {
      const pid_t pid = fork();
      if (pid == 0) _exit(Child(world, rank, host_of, work, expect));
      pids_.push_back(pid);
    }
  }
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid > 0) kill(pid, SIGKILL);
    }
  }
  int done(int rank) { return board().done[rank]; }
  void Kill(int rank) {
    kill(pids_[rank], SIGKILL);
    waitpid(pids_[rank], nullptr, 0);
    pids_[rank] = 0;
  }
  int ExitCode(int rank) {
    int status = 0;
    waitpid(pids_[rank], &status, 0);
    pids_[rank] = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  Board& board() { return *reinterpret_cast<Board*>(buffer_->data()); }
  int Child(net::TestWorld& world, int rank, const std::vector<int>& host_of, const Work& work,
            const std::function<bool(const absl::Status&)>& expect) {
    auto listener = std::move(world.listeners[rank]);
    world.listeners.clear();
    auto endpoint = net::ConnectTcp(std::move(listener), world.Options(rank), clock_);
    if (!endpoint.ok()) return 90;
    absl::Status status = absl::OkStatus();
    {
      auto sharing = SharingRank::Open(**endpoint, {.host_of = host_of}, clock_);
      // A rank that has opened may be killed while others still do.
      status = sharing.ok() ? work(**sharing, board().done[rank]) : sharing.status();
    }
    if (expect(status)) return 0;
    fprintf(stderr, "rank %d: %s\n", rank, Text(status).c_str());
    return 1;
  }

  SystemClock clock_;
  std::unique_ptr<os::SharedBuffer> buffer_;
  std::vector<pid_t> pids_;
};

// `victim` is killed after `before` collectives, or, if it `goes_on`, at any moment after them.
void ExpectDeathIsNoticed(int victim, int before, int64_t count, bool goes_on) {
  SCOPED_TRACE(testing::Message() << "rank " << victim << " after " << before);
  const std::string dead = absl::StrCat("rank ", victim);
  Processes processes(
      kHosts,
      [&](SharingRank& rank, std::atomic<int>& done) -> absl::Status {
        while (true) {
          if (!goes_on && rank.rank() == victim && done + 1 > before) {
            ++done;
            pause();
          }
          RETURN_IF_ERROR(Sum(rank, count));
          ++done;
        }
      },
      [&](const absl::Status& status) { return absl::StrContains(status.message(), dead); });
  SystemClock clock;
  while (processes.done(victim) <= before) clock.SleepNs(kMillisecond);
  processes.Kill(victim);
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == victim) continue;
    EXPECT_EQ(processes.ExitCode(rank), 0) << rank;
  }
}

TEST(TwoLevelProcessTest, ADeathBeforeOrBetweenCollectives) {
  for (int victim = 0; victim < 3; ++victim) {
    ExpectDeathIsNoticed(victim, 0, 20, /*goes_on=*/false);
    ExpectDeathIsNoticed(victim, 2, kCount, /*goes_on=*/false);
  }
}

TEST(TwoLevelProcessTest, ADeathAtAnyMoment) {
  for (int trial = 0; trial < 2; ++trial) {
    for (int victim = 0; victim < 3; ++victim) {
      ExpectDeathIsNoticed(victim, 2 + trial, 20'000 * (1 + trial), /*goes_on=*/true);
    }
  }
}

// The owner dies while its mates have done all of theirs but the end.
TEST(TwoLevelProcessTest, ADeathOfWhoIsAtWorkBetweenHosts) {
  for (const int victim : {0, 1}) {
    SCOPED_TRACE(victim);
    const std::string dead = absl::StrCat("rank ", victim);
    Processes processes(
        kHosts,
        [&](SharingRank& rank, std::atomic<int>& done) -> absl::Status {
          if (rank.rank() == 0) {  // the others have done the first half, and wait
            SystemClock().SleepNs(100 * kMillisecond);
            ++done;
            pause();
          }
          ++done;
          return Sum(rank, kCount);
        },
        [&](const absl::Status& status) { return absl::StrContains(status.message(), dead); });
    SystemClock clock;
    while (processes.done(0) == 0 || processes.done(1) == 0) clock.SleepNs(kMillisecond);
    processes.Kill(victim);
    for (int rank = victim + 1; rank < kRanks; ++rank)
      EXPECT_EQ(processes.ExitCode(rank), 0) << rank;
  }
}

}  // namespace
}  // namespace crossover::allreduce
