// ps_test with real processes: what it measures is right and written down, and whatever ends a
// process or the test leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/comm/limits.h"
#include "bench/comm/record.h"
#include "bench/ps/push_pull_record.h"
#include "bench/shared/program_fixture.h"
#include "experiments/launch/child_process.h"
#include "os/files.h"
#include "tests/lab_available.h"

namespace crossover::bench {
namespace {

using experiments::ChildProcess;
using testing::HasSubstr;

// A size that takes for ever.
const std::vector<std::string> kEndless = {"--workers=2", "--servers=2", "--sizes=4M",
                                           "--iterations=1000000"};

class PsTest : public ProgramTest {
 protected:
  PsTest() : ProgramTest("bench/ps_test") {}

  // Of a file that --json has written.
  struct Lines {
    std::vector<PushPullRecord> ours;
    std::vector<Record> beside;
  };
  Lines Read(const std::string& path) const {
    Lines lines;
    const std::string text = os::ReadFile(path).value_or("");
    const std::vector<std::string> all = absl::StrSplit(text, '\n', absl::SkipEmpty());
    for (const std::string& line : all) {
      if (absl::StrContains(line, "\"push_pull\"")) {
        lines.ours.push_back(ReadPushPull(line).value_or(PushPullRecord()));
      } else {
        lines.beside.push_back(ReadRecord(line).value_or(Record()));
      }
    }
    return lines;
  }

  // All four of a test in the middle of it: server 0 and 1, worker 0 and 1.
  std::vector<pid_t> ProcessesOf(const ChildProcess& test) {
    std::vector<pid_t> pids;
    for (const std::string binary : {"/ps/server", "/bench/ps_worker"}) {
      for (const int rank : {0, 1}) {
        pids.push_back(ProcessWith(test, {binary, absl::StrCat("--rank=", rank)}));
      }
    }
    return pids;
  }
};

TEST_F(PsTest, MeasuresChecksAndWritesLines) {
  const std::string json = directory_ + "/lines.jsonl";
  ChildProcess test =
      Start({"--workers=3", "--servers=2", "--sizes=4K,300000,1M", "--buckets=3", "--iterations=2",
             "--part_bytes=4096", "--credits=2", "--rounds=2", "--beside=ring", "--json=" + json});
  ASSERT_EQ(Wait(test), 0) << Log();
  const Lines lines = Read(json);
  ASSERT_EQ(lines.ours.size(), 6);
  for (const PushPullRecord& record : lines.ours) {
    EXPECT_EQ(record.workers, 3);
    EXPECT_EQ(record.servers, 2);
    EXPECT_EQ(record.buckets, 3);
    EXPECT_EQ(record.part_bytes, 4096);
    EXPECT_EQ(record.credits, 2);
    EXPECT_EQ(record.wrong, 0);
    EXPECT_GE(record.steps, 2);
    EXPECT_GT(record.push_us, 0);
    EXPECT_LE(record.time_us_min, record.time_us);
    EXPECT_LE(record.time_us, record.time_us_max);
    EXPECT_NEAR(record.algbw_GBps, static_cast<double>(record.bytes) / record.time_us * 1e-3, 1e-9);
    EXPECT_GT(record.link_GBps, 0);
    // Six models of five processes' rate.
    EXPECT_NEAR(record.bound_us, static_cast<double>(record.bytes) * 1.2 / record.link_GBps * 1e-3,
                1e-6 * record.bound_us);
    EXPECT_GT(record.server_cpu_s_per_GB, 0);
    EXPECT_GT(record.worker_cpu_s_per_GB, 0);
    EXPECT_GT(record.server_peak_MB, 1);
    EXPECT_GT(record.fairness, 0.3);
    EXPECT_LE(record.fairness, 1 + 1e-9);
    EXPECT_EQ(record.worker_time_us.size(), 3);
  }
  int limits = 0;
  int rings = 0;
  for (const Record& record : lines.beside) {
    (record.library == kLimitLibrary ? limits : rings) += 1;
    EXPECT_EQ(record.wrong, 0);
  }
  EXPECT_EQ(limits, 2);
  EXPECT_EQ(rings, 6);
  EXPECT_THAT(Log(), testing::AllOf(HasSubstr("Push and pull"), HasSubstr("Beside our ring")));
}

TEST_F(PsTest, WorkersThatWaitForNobodyAreCheckedToo) {
  const std::string json = directory_ + "/lines.jsonl";
  ChildProcess test = Start({"--strategy=ps_async", "--workers=3", "--servers=2", "--sizes=64K",
                             "--iterations=2", "--part_bytes=4096", "--json=" + json});
  ASSERT_EQ(Wait(test), 0) << Log();
  const Lines lines = Read(json);
  ASSERT_EQ(lines.ours.size(), 1);
  EXPECT_EQ(lines.ours.front().strategy, "ps_async");
  EXPECT_EQ(lines.ours.front().wrong, 0);
  EXPECT_GE(lines.ours.front().steps, 16);
}

TEST_F(PsTest, OtherFieldsOfTheServersReachThem) {
  const std::string json = directory_ + "/lines.jsonl";
  ChildProcess test =
      Start({"--workers=2", "--servers=2", "--sizes=64K", "--iterations=2", "--part_bytes=4096",
             "--set=ps.wire=bf16", "--set=ps.channels=2", "--json=" + json});
  ASSERT_EQ(Wait(test), 0) << Log();
  const Lines lines = Read(json);
  ASSERT_EQ(lines.ours.size(), 1);
  EXPECT_EQ(lines.ours.front().settings, "wire=bf16 channels=2");
  EXPECT_EQ(lines.ours.front().wrong, 0);
  EXPECT_THAT(Log(), HasSubstr("loopback, 2 workers, 2 servers, wire=bf16 channels=2"));
}

TEST_F(PsTest, OneValueAndManyServersAreMeasuredToo) {
  ChildProcess test = Start({"--workers=1", "--servers=3", "--sizes=4", "--iterations=1"});
  EXPECT_EQ(Wait(test), 0) << Log();
}

TEST_F(PsTest, FlagsThatMakeNoSenseSayTheFix) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--workers=0"}, "--workers"},
      {{"--worker=2"}, "--workers"},
      {{"servers=2"}, "'servers=2': not a flag; fix: begin flags with --"},
      {{"--sizes=6"}, "--sizes: 6 bytes; allowed: multiples of 4"},
      {{"--placement=colocated"}, "fix: add --network=1gbit"},
      {{"--set=ps.part_bytes=5"}, "part_bytes"},
      {{"--strategy=ps_ssp"}, "--strategy=ps_ssp: allowed: ps_sync, ps_async"},
      {{"--set=workers=2"}, "--set=workers=2: allowed: a field of the job's ps"},
      {{"--network=fast"}, "--network: "},
      {{"--target=none"}, "--target=none: no none; allowed: all, lab_dedicated"},
      {{"--target=loopback", "--workers=2"},
       "--target: its rows say what is measured and how; fix: leave out --workers=2"},
      {{"--json=/nowhere/lines"}, "cannot write /nowhere/lines: No such file"}};
  for (const auto& [flags, expected] : cases) {
    ChildProcess test = Start(flags);
    EXPECT_EQ(Wait(test), 1) << flags.front();
    EXPECT_THAT(Log(), HasSubstr("ps_test: "));
    EXPECT_THAT(Log(), HasSubstr(expected));
  }
}

TEST_F(PsTest, AKilledProcessIsNamedAndEndsTheOthers) {
  for (const int victim : {1, 3}) {
    ChildProcess test = Start(kEndless);
    const std::vector<pid_t> pids = ProcessesOf(test);
    signals_.Wait(1);
    ASSERT_FALSE(test.Poll().has_value()) << Log();
    kill(pids[victim], SIGKILL);
    EXPECT_EQ(Wait(test), 1);
    const std::string name = victim == 1 ? "server 1" : "worker 1";
    EXPECT_THAT(Log(), testing::AllOf(HasSubstr(name + " at 127.0.0.1:"),
                                      HasSubstr(name + " was killed by signal 9")));
    EXPECT_TRUE(AreGone(pids, 0));
  }
}

TEST_F(PsTest, ASignalLeavesNothingRunning) {
  for (const int signal : {SIGINT, SIGTERM}) {
    ChildProcess test = Start(kEndless);
    const std::vector<pid_t> pids = ProcessesOf(test);
    signals_.Wait(1);
    test.Signal(signal);
    EXPECT_EQ(Wait(test), 128 + signal) << Log();
    EXPECT_TRUE(AreGone(pids, 0));
  }
}

// A rate that a busy machine holds too.
TEST_F(PsTest, ServersLieWhereThePlacementSays) {
  static const std::string why_no_lab = tests::WhyNoLab();
  if (!why_no_lab.empty()) GTEST_SKIP() << "no network lab here: " << why_no_lab;
  for (const std::string placement : {"dedicated", "colocated"}) {
    const std::string json = absl::StrCat(directory_, "/", placement, ".jsonl");
    ChildProcess test = Start({"--workers=4", "--servers=1", "--network=100mbit", "--sizes=1M",
                               "--iterations=2", "--placement=" + placement, "--json=" + json});
    ASSERT_EQ(Wait(test), 0) << Log();
    const Lines lines = Read(json);
    ASSERT_EQ(lines.ours.size(), 1);
    const PushPullRecord& record = lines.ours.front();
    EXPECT_EQ(record.network, "100mbit");
    EXPECT_EQ(record.placement, placement);
    // Four pushes of a MiB through one link, or three where one worker is the server's neighbour;
    // a tenth may lie in buffers.
    const double link_bytes = (placement == "dedicated" ? 4. : 3.) * (1 << 20);
    EXPECT_NEAR(record.link_GBps, 11.77e-3, 0.3e-3);
    EXPECT_NEAR(record.bound_us, link_bytes / record.link_GBps * 1e-3, 1);
    EXPECT_GT(record.time_us, 0.9 * record.bound_us);
  }
}

}  // namespace
}  // namespace crossover::bench
