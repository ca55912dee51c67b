// comm_test in the network lab and on hosts that are reached by ssh: what it measures there, and
// that every end of it leaves no process, no namespace and no file of a run. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/comm/record.h"
#include "bench/comm_fixture.h"
#include "experiments/launch/child_process.h"
#include "lab/namespaces.h"
#include "os/files.h"
#include "tests/child_processes.h"
#include "tests/lab_available.h"
#include "tests/ssh_hosts.h"

namespace crossover::bench {
namespace {

using experiments::ChildProcess;
using testing::HasSubstr;
using testing::IsEmpty;

// A size that takes for ever.
const std::vector<std::string> kEndless = {"--sizes=1M", "--iterations=1000000", "--limits=false",
                                           "--transport=tcp"};

class InTheLab : public CommTest {
 protected:
  void SetUp() override {
    static const std::string why_no_lab = tests::WhyNoLab();
    if (!why_no_lab.empty()) GTEST_SKIP() << "no network lab here: " << why_no_lab;
  }
  // A rate that a busy machine holds too.
  ChildProcess StartInLab(int ranks, std::vector<std::string> flags) {
    flags.insert(flags.end(), {absl::StrCat("--local_ranks=", ranks), "--network=200mbit"});
    ChildProcess test = Start(flags);
    pids_ = {test.pid()};
    return test;
  }
  // Three ranks in the middle of it.
  ChildProcess StartEndless() {
    ChildProcess test = StartInLab(3, kEndless);
    for (int rank = 0; rank < 3; ++rank) pids_.push_back(RankOf(test, rank));
    signals_.Wait(1);
    EXPECT_FALSE(test.Poll().has_value()) << Log();
    EXPECT_GE(Namespaces(test).size(), 3 + 1);
    // The lab's helpers, too.
    for (const pid_t child : tests::ChildrenOf(test.pid())) pids_.push_back(child);
    return test;
  }
  // Of this lab: others may have one too.
  static std::vector<std::string> Namespaces(const ChildProcess& test) {
    std::vector<std::string> found;
    for (const std::string& name : lab::ListNamespaces().value_or(std::vector<std::string>())) {
      if (lab::NamespaceOwner(name) == test.pid()) found.push_back(name);
    }
    return found;
  }
  void ExpectNothingIsLeft(const ChildProcess& test, double within_s) {
    EXPECT_TRUE(AreGone(pids_, within_s));
    const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(within_s * 1e9);
    while (!Namespaces(test).empty() && clock_.NowNs() < deadline_ns) signals_.Wait(0.1);
    EXPECT_THAT(Namespaces(test), IsEmpty());
  }

  std::vector<pid_t> pids_;  // of the test and its ranks
};

TEST_F(InTheLab, MeasuresWhatTheLinkCarries) {
  const std::string json = directory_ + "/lines.jsonl";
  ChildProcess test = StartInLab(2, {"--sizes=16M", "--in_place=in", "--warmup=1", "--iterations=2",
                                     "--limits=false", "--transport=tcp", "--json=" + json});
  ASSERT_EQ(Wait(test), 0) << Log();
  const std::vector<Record> lines = Lines(json);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[0].algorithm, "lab_probe");
  EXPECT_EQ(lines[1].op, "all_reduce");
  for (const Record& line : lines) {
    EXPECT_EQ(line.network, "200mbit");
    // 200 Mbit/s carry 23.5 MB/s of TCP's payload.
    EXPECT_LT(line.busbw_GBps, 0.02354 * 1.02) << line.algorithm;
    EXPECT_GT(line.busbw_GBps, 0.02354 * 0.5) << line.algorithm;
  }
  ExpectNothingIsLeft(test, 0);
}

TEST_F(InTheLab, AKilledRankIsNamed) {
  ChildProcess test = StartEndless();
  ASSERT_GT(pids_[2], 0);
  kill(pids_[2], SIGKILL);
  EXPECT_EQ(Wait(test), 1);
  EXPECT_THAT(Log(), HasSubstr("rank 1 was killed by signal 9"));
  ExpectNothingIsLeft(test, 0);
}

TEST_F(InTheLab, NothingIsLeftAfterASignal) {
  ChildProcess test = StartEndless();
  test.Signal(SIGINT);
  EXPECT_EQ(Wait(test), 128 + SIGINT) << Log();
  ExpectNothingIsLeft(test, 0);
}

TEST_F(InTheLab, NothingIsLeftAfterASignalWhileItIsMade) {
  ChildProcess test = StartInLab(3, kEndless);
  while (Namespaces(test).empty() && !test.Poll().has_value()) signals_.Wait(0.01);
  test.Signal(SIGTERM);
  EXPECT_EQ(Wait(test), 128 + SIGTERM) << Log();
  ExpectNothingIsLeft(test, 0);
}

TEST_F(InTheLab, NothingIsLeftWhenTheTestIsKilled) {
  ChildProcess test = StartEndless();
  test.Signal(SIGKILL);
  EXPECT_EQ(Wait(test), -SIGKILL);
  ExpectNothingIsLeft(test, 10);
}

class OnHosts : public CommTest {
 protected:
  void SetUp() override {
    const std::string why_no_hosts = tests::WhyNoSshHosts();
    if (!why_no_hosts.empty()) GTEST_SKIP() << why_no_hosts;
    auto hosts = tests::SshHosts::Up(2, directory_);
    ASSERT_TRUE(hosts.ok()) << hosts.status();
    hosts_ = *std::move(hosts);
    ASSERT_EQ(hosts_->StartAllSshds(), absl::OkStatus());
    ASSERT_TRUE(os::WriteFile(directory_ + "/hosts",
                              absl::StrCat(hosts_->Address(0), "\n", hosts_->Address(1), "\n"))
                    .ok());
  }
  void TearDown() override {
    if (hosts_ == nullptr) return;
    EXPECT_EQ(hosts_->Down(), absl::OkStatus());
  }
  ChildProcess StartOnHosts(std::vector<std::string> flags) {
    flags.push_back(absl::StrCat("--hosts=", directory_, "/hosts"));
    flags.push_back("--remote-dir=" + hosts_->remote_dir());
    for (const std::string& option : hosts_->ssh_options()) {
      flags.push_back("--ssh-option=" + option);
    }
    return Start(flags, "log", hosts_->launcher_namespace());
  }
  // Both ranks in the middle of it.
  ChildProcess StartEndless() {
    ChildProcess test = StartOnHosts(kEndless);
    while (WithArguments(hosts_->Running(), {"--rank=1"}) == 0 && !test.Poll().has_value()) {
      signals_.Wait(0.1);
    }
    signals_.Wait(1);
    EXPECT_FALSE(test.Poll().has_value()) << Log();
    return test;
  }
  void ExpectNothingIsLeft(double within_s) {
    const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(within_s * 1e9);
    while ((!hosts_->Running().empty() || !hosts_->FilesOfRuns().empty()) &&
           clock_.NowNs() < deadline_ns) {
      signals_.Wait(0.1);
    }
    EXPECT_THAT(hosts_->Running(), IsEmpty());
    EXPECT_THAT(hosts_->FilesOfRuns(), IsEmpty());
  }

  std::unique_ptr<tests::SshHosts> hosts_;
};

TEST_F(OnHosts, ARankForEachSlotMeasuresAndNothingIsLeft) {
  const std::string json = directory_ + "/lines.jsonl";
  ChildProcess test = StartOnHosts(
      {"--sizes=4K,1M", "--in_place=in", "--iterations=2", "--limits=false", "--json=" + json});
  ASSERT_EQ(Wait(test), 0) << Log();
  const std::vector<Record> lines = Lines(json);
  ASSERT_EQ(lines.size(), 2);
  for (const Record& line : lines) {
    EXPECT_EQ(line.ranks, 2);
    EXPECT_EQ(line.transport, "tcp");
    EXPECT_EQ(line.wrong, 0);
    EXPECT_GT(line.time_us, 0);
  }
  EXPECT_THAT(Log(), HasSubstr(absl::StrCat(hosts_->Address(0), " -> ", hosts_->Address(1))));
  ExpectNothingIsLeft(0);
}

TEST_F(OnHosts, AKilledRankIsNamedWithItsHost) {
  ChildProcess test = StartEndless();
  const pid_t rank = WithArguments(hosts_->Running(), {"--rank=1"});
  ASSERT_GT(rank, 0);
  kill(rank, SIGKILL);
  EXPECT_EQ(Wait(test), 1);
  EXPECT_THAT(Log(),
              HasSubstr(absl::StrCat("rank 1 at ", hosts_->Address(1), " was killed by signal 9")));
  ExpectNothingIsLeft(0);
}

TEST_F(OnHosts, NothingIsLeftAfterASignal) {
  ChildProcess test = StartEndless();
  test.Signal(SIGINT);
  EXPECT_EQ(Wait(test), 128 + SIGINT) << Log();
  ExpectNothingIsLeft(0);
}

TEST_F(OnHosts, NothingIsLeftWhenTheTestIsKilled) {
  ChildProcess test = StartEndless();
  test.Signal(SIGKILL);
  EXPECT_EQ(Wait(test), -SIGKILL);
  ExpectNothingIsLeft(10);
}

}  // namespace
}  // namespace crossover::bench
