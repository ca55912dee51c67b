// comm_test with real processes: what it measures is right and written down, and whatever ends a
// rank or the test leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/comm/local_ranks.h"
#include "bench/comm/record.h"
#include "core/clock.h"
#include "experiments/child_process.h"
#include "experiments/signal_waiter.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

using experiments::ChildProcess;
using testing::HasSubstr;

constexpr char kBinary[] = "bench/comm_test";

class CommTest : public testing::Test {
 protected:
  CommTest() : directory_(testing::TempDir()), log_(directory_ + "/comm_test.log") {}

  ChildProcess Start(const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {kBinary};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    auto child = ChildProcess::Start({.arguments = arguments, .log_path = log_});
    EXPECT_TRUE(child.ok()) << child.status();
    return std::move(*child);
  }
  // The exit code; -1 if a signal ended it or half a minute did not.
  int Wait(ChildProcess& child) {
    for (int i = 0; i < 300; ++i) {
      if (const auto ended = child.Poll()) return ended->signal == 0 ? ended->code : -1;
      signals_.Wait(0.1);
    }
    return -1;
  }
  std::string Log() const { return os::ReadFile(log_).value_or(""); }

  experiments::SignalWaiter signals_;
  SystemClock clock_;
  const std::string directory_;
  const std::string log_;
};

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const auto listed = os::ReadFile(absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
  for (const absl::string_view word : absl::StrSplit(listed.value_or(""), ' ', absl::SkipEmpty())) {
    int child = 0;
    if (absl::SimpleAtoi(word, &child)) children.push_back(child);
  }
  return children;
}

bool Lives(pid_t pid) { return kill(pid, 0) == 0; }

class Transports : public CommTest, public testing::WithParamInterface<const char*> {};

TEST_P(Transports, MeasuresChecksAndWritesLines) {
  const std::string json = directory_ + "/lines.jsonl";
  ChildProcess child =
      Start({"--local_ranks=2", "--sizes=4K,256K", "--iterations=2", "--limits=false",
             absl::StrCat("--transport=", GetParam()), "--json=" + json});
  ASSERT_EQ(Wait(child), 0) << Log();
  const auto lines = os::ReadFile(json);
  ASSERT_TRUE(lines.ok());
  const auto records = ReadRecords(*lines);
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 4);
  for (const Record& record : *records) {
    EXPECT_EQ(record.library, "crossover");
    EXPECT_EQ(record.transport, GetParam());
    EXPECT_EQ(record.op, "all_reduce");
    EXPECT_EQ(record.ranks, 2);
    EXPECT_EQ(record.wrong, 0);
    EXPECT_GT(record.time_us, 0);
    EXPECT_GT(record.cpu_us, 0);
    EXPECT_EQ(record.rank_time_us.size(), 2);
  }
  EXPECT_EQ(records->back().bytes, 256 << 10);
  EXPECT_THAT(Log(), HasSubstr("Latency"));
  EXPECT_THAT(Log(), HasSubstr("Bandwidth"));
}
INSTANTIATE_TEST_SUITE_P(All, Transports,
                         testing::Values("tcp", "shared_memory", "grpc", "inproc"));

TEST_F(CommTest, LimitsAreMeasuredInTheSameRunAndCostsFitted) {
  const std::string json = directory_ + "/limits.jsonl";
  const std::string fit = directory_ + "/fit.jsonl";
  ChildProcess child =
      Start({"--local_ranks=2", "--sizes=4K,1M", "--iterations=1", "--transport=tcp",
             "--algorithm=ring", "--json=" + json, "--fit=" + fit});
  ASSERT_EQ(Wait(child), 0) << Log();
  EXPECT_THAT(os::ReadFile(fit).value_or(""), HasSubstr("\"alpha_us\":"));
  const auto records = ReadRecords(*os::ReadFile(json));
  ASSERT_TRUE(records.ok()) << records.status();
  std::vector<std::string> limits;
  for (const Record& record : *records) {
    if (record.library != "limit") continue;
    limits.push_back(record.algorithm);
    EXPECT_GT(record.busbw_GBps, 0) << record.algorithm;
  }
  EXPECT_THAT(limits, testing::ElementsAre("memcpy", "one_pair", "all_duplex"));
}

TEST_F(CommTest, RefusesBadFlagsWithTheFix) {
  const std::pair<const char*, const char*> cases[] = {
      {"--size=4K", "--size: unknown flag (did you mean --sizes?)"},
      {"--rank=0", "--world_size: missing"},
      {"--peers=nccl", "allowed: gloo, openmpi"},
      {"--network=1gbut", "--network: "},
      {"--ranks_per_node=2", "--ranks_per_node: goes with --network"},
      {"--target=speed", "--target=speed: no speed; allowed: all, tcp_bandwidth"}};
  for (const auto& [flag, expected] : cases) {
    ChildProcess child = Start({flag});
    EXPECT_EQ(Wait(child), 1) << flag;
    EXPECT_THAT(Log(), HasSubstr(expected));
  }
}

TEST_F(CommTest, AKilledRankIsNamed) {
  LocalOptions options;
  options.plan.sizes = {4 << 20};
  options.plan.iterations = 1'000'000;
  options.plan.limits = false;
  options.plan.transport = Transport::kTcp;
  options.ranks = 3;
  options.directory = directory_;
  options.binary = kBinary;
  std::vector<int> pids;
  std::thread killer;
  options.on_started = [&](const std::vector<int>& started) {
    pids = started;
    killer = std::thread([this, pid = started[1]] {
      clock_.SleepNs(1'500'000'000);
      kill(pid, SIGKILL);
    });
  };
  const auto records = RunLocalRanks(options, signals_, clock_);
  killer.join();
  ASSERT_FALSE(records.ok());
  EXPECT_THAT(std::string(records.status().message()),
              testing::AllOf(HasSubstr("worker 1 at 127.0.0.1:"),
                             HasSubstr("rank 1 was killed by signal 9")));
  for (const int pid : pids) EXPECT_FALSE(Lives(pid));
}

TEST_F(CommTest, ASignalLeavesNothingRunning) {
  for (const int signal : {SIGINT, SIGTERM}) {
    ChildProcess child = Start({"--local_ranks=2", "--sizes=4M", "--iterations=1000000",
                                "--transport=tcp", "--limits=false"});
    std::vector<pid_t> ranks;
    for (int i = 0; i < 100 && ranks.size() < 2; ++i) {
      signals_.Wait(0.1);
      ranks = ChildrenOf(child.pid());
    }
    ASSERT_EQ(ranks.size(), 2) << Log();
    signals_.Wait(1);
    child.Signal(signal);
    EXPECT_EQ(Wait(child), 128 + signal) << Log();
    for (const pid_t rank : ranks) EXPECT_FALSE(Lives(rank));
  }
}

}  // namespace
}  // namespace crossover::bench
