// Losses of processes: every process of the run ends within the deadline, and one
// line names role, rank, address and step. Each test kills one process of a real run
// at a chosen moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "os/files.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

using net::MemberState;
using net::Role;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr int kWorkers = 3;
constexpr int kServers = 2;

enum class Phase { kBeforeJoin, kInAStep, kAfterTheLastPush };

struct Case {
  proto::Strategy::Name strategy;
  Role role;
  int rank;
  Phase phase;
  int signal;
};

std::string NameOf(const Case& test) {
  const char* phase = test.phase == Phase::kBeforeJoin ? "before_join"
                      : test.phase == Phase::kInAStep  ? "in_a_step"
                                                       : "after_the_last_push";
  return absl::StrCat(proto::Strategy::Name_Name(test.strategy), "_", net::RoleName(test.role), "_",
                      test.signal == SIGKILL ? "killed" : "stopped", "_", phase);
}

// Long enough that a moment in the middle is easily met; for the end, many snapshots
// keep rank 0 evaluating after the last push.
proto::Job LongJob(const Case& test) {
  proto::Job job = SmallJob(MakeSmallData(1200));
  job.set_strategy(test.strategy);
  job.set_workers(kWorkers);
  job.set_servers(kServers);
  job.set_steps(100'000);
  job.mutable_deadlines()->set_loss_s(3);
  if (test.phase == Phase::kAfterTheLastPush) {
    job.set_steps(400);
    job.mutable_measure()->set_evaluate_every_steps(1);
    job.mutable_data()->set_path("/usr/share/datasets/fashion-mnist");
  }
  return job;
}

bool IsMoment(const Case& test, const std::vector<MemberState>& members) {
  for (const MemberState& member : members) {
    if (member.role != Role::kWorker) continue;
    if (test.phase == Phase::kInAStep && member.step < 20) return false;
    if (test.phase == Phase::kAfterTheLastPush && member.rank == 0 && member.phase != "evaluate") {
      return false;
    }
  }
  return true;
}

// Everyone else ended by itself and said who was lost.
void ExpectSurvivorsSayWhy(const Case& test) {
  const std::string lost = net::ProcessName(test.role, test.rank);
  const bool servers = UsesServers(LongJob(test));
  for (int i = 0; i < kWorkers + (servers ? kServers : 0); ++i) {
    const Role role = i < kWorkers ? Role::kWorker : Role::kServer;
    const int rank = i < kWorkers ? i : i - kWorkers;
    if (role == test.role && rank == test.rank) continue;
    const std::string log = os::ReadFile(absl::StrCat(testing::TempDir(), "/", NameOf(test), "/",
                                                      net::RoleName(role), "-", rank, ".log"))
                                .value_or("no log");
    EXPECT_THAT(log, HasSubstr(absl::StrCat(lost, " at "))) << net::ProcessName(role, rank);
  }
}

class Loss : public testing::TestWithParam<Case> {};

TEST_P(Loss, EndsEveryProcessAndNamesTheCulprit) {
  const Case& test = GetParam();
  const SystemClock clock;
  std::vector<int> pids;
  int64_t lost_at_ns = 0;
  const auto lose = [&] {
    const int index = test.role == Role::kWorker ? test.rank : kWorkers + test.rank;
    ASSERT_EQ(kill(pids.at(index), test.signal), 0);
    lost_at_ns = clock.NowNs();
  };
  const absl::StatusOr<Outcome> outcome =
      RunJobWith(LongJob(test), NameOf(test), [&](experiments::ClusterOptions& options) {
        options.on_started = [&](const std::vector<int>& started) {
          pids = started;
          if (test.phase == Phase::kBeforeJoin) lose();
        };
        options.on_progress = [&](const std::vector<MemberState>& members) {
          if (lost_at_ns == 0 && IsMoment(test, members)) lose();
        };
      });
  const double took_s = static_cast<double>(clock.NowNs() - lost_at_ns) * 1e-9;
  ASSERT_FALSE(outcome.ok()) << "the run ended well without a process";
  ASSERT_NE(lost_at_ns, 0) << "the moment never came: " << outcome.status();

  const std::string message(outcome.status().message());
  EXPECT_THAT(message, HasSubstr(net::ProcessName(test.role, test.rank)));
  EXPECT_EQ(message.find('\n'), std::string::npos) << "one line: " << message;
  if (test.signal == SIGKILL) {
    EXPECT_THAT(message, HasSubstr("killed by signal 9"));
  }
  if (test.phase != Phase::kBeforeJoin) {
    EXPECT_THAT(message, HasSubstr(" at 127.0.0.1:"));
    EXPECT_THAT(message, HasSubstr("in step "));
  }
  for (const int pid : pids) EXPECT_FALSE(IsRunning(pid));
  if (test.phase == Phase::kInAStep) ExpectSurvivorsSayWhy(test);
  // The job's deadline, and a little for a machine with fewer cores than processes.
  EXPECT_LT(took_s, 3 + 2) << message;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](proto::Strategy::Name strategy, Role role, int rank, Phase phase,
                       int signal = SIGKILL) {
    cases.push_back({strategy, role, rank, phase, signal});
  };
  for (const Phase phase : {Phase::kBeforeJoin, Phase::kInAStep, Phase::kAfterTheLastPush}) {
    add(proto::Strategy::ps_sync, Role::kServer, 1, phase);
    // Worker 0 evaluates after the last push, when the others have left.
    add(proto::Strategy::ps_sync, Role::kWorker, 0, phase);
    add(proto::Strategy::allreduce_ring, Role::kWorker, 0, phase);
  }
  add(proto::Strategy::ps_async, Role::kWorker, 2, Phase::kInAStep);
  add(proto::Strategy::ps_async, Role::kServer, 0, Phase::kInAStep);
  add(proto::Strategy::ps_ssp, Role::kWorker, 1, Phase::kInAStep);
  add(proto::Strategy::allreduce_ring, Role::kWorker, 2, Phase::kInAStep);
  add(proto::Strategy::local_sgd, Role::kWorker, 1, Phase::kInAStep);
  add(proto::Strategy::ps_sync, Role::kWorker, 1, Phase::kInAStep, SIGSTOP);
  add(proto::Strategy::ps_sync, Role::kServer, 0, Phase::kInAStep, SIGSTOP);
  add(proto::Strategy::allreduce_ring, Role::kWorker, 1, Phase::kInAStep, SIGSTOP);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Loss, testing::ValuesIn(Cases()), [](const auto& info) {
  return absl::StrCat(NameOf(info.param), "_", info.param.rank);
});

}  // namespace
}  // namespace crossover::tests
