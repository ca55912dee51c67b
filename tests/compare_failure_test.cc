// What signals do to the compare binary, by kind and moment, and that nothing of it stays:
// no process, no namespace, no secret. The rest of the failure matrix: failure_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"
#include "lab/namespaces.h"
#include "os/files.h"
#include "tests/child_processes.h"
#include "tests/cluster_fixture.h"
#include "tests/failure_case.h"
#include "tests/lab_available.h"

namespace crossover::tests {
namespace {

using experiments::ChildProcess;
using experiments::ExitStatus;
using testing::HasSubstr;

constexpr double kShortStopS = 0.8;
constexpr double kPatienceS = 90;

struct CompareCase {
  FailureCase cell;
  bool in_lab = false;
};

class CompareFailure : public testing::TestWithParam<CompareCase> {
 protected:
  CompareFailure() {
    const FailureCase& cell = GetParam().cell;
    directory_ = absl::StrCat(testing::TempDir(), "/compare-", NameOf(cell),
                              GetParam().in_lab ? "-lab" : "");
    run_ = directory_ + "/out/runs/001-ps_sync-mlp-r1";
    EXPECT_TRUE(os::MakeDirectory(directory_).ok());
    proto::Job job = JobFor(cell);
    job.mutable_comparison()->set_repetitions(1);
    job.mutable_comparison()->add_strategies(cell.strategy);
    job.mutable_comparison()->set_network(GetParam().in_lab ? "100mbit" : "loopback");
    job.clear_strategy();
    EXPECT_TRUE(os::WriteFile(directory_ + "/job.textproto", PrintJob(job)).ok());
  }

  ChildProcess Start() {
    auto child = ChildProcess::Start(
        {.arguments = {"experiments/compare", "--out=out", directory_ + "/job.textproto"},
         .log_path = directory_ + "/log",
         .environment = {{"BUILD_WORKING_DIRECTORY", directory_}}});
    EXPECT_TRUE(child.ok()) << child.status();
    return std::move(*child);
  }
  std::string Log() { return os::ReadFile(directory_ + "/log").value_or("no log"); }

  bool HasCome() {
    const std::string log = os::ReadFile(run_ + "/worker-0.log").value_or("");
    switch (GetParam().cell.moment) {
      case Moment::kBeforeJoin:
        return std::filesystem::exists(run_ + "/worker-0.log");
      case Moment::kInAStep:
        return log.find("training begins") != std::string::npos;
      case Moment::kAtTheEnd:
        return log.find("training ended") != std::string::npos;
    }
    return false;
  }
  // Whether `done` came true within the time.
  template <typename Done>
  bool Await(double seconds, const Done& done) {
    const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(seconds * 1e9);
    while (!done()) {
      if (clock_.NowNs() > deadline_ns) return false;
      signals_.Wait(0.05);
    }
    return true;
  }
  static bool AllGone(const std::vector<int>& pids) {
    for (const int pid : pids) {
      if (IsRunning(pid)) return false;
    }
    return true;
  }

  experiments::SignalWaiter signals_;
  const SystemClock clock_;
  std::string directory_;
  std::string run_;
};

TEST_P(CompareFailure, LeavesNothingBehind) {
  const FailureCase& cell = GetParam().cell;
  const std::string why_no_lab = GetParam().in_lab ? WhyNoLab() : "";
  if (!why_no_lab.empty()) GTEST_SKIP() << "no network lab here: " << why_no_lab;
  const auto namespaces_before = lab::ListNamespaces();
  ChildProcess compare = Start();
  ASSERT_TRUE(Await(kPatienceS, [&] { return HasCome() || compare.Poll().has_value(); })) << Log();
  ASSERT_FALSE(compare.Poll().has_value()) << "ended before the moment: " << Log();
  const std::vector<int> processes = ChildrenOf(compare.pid());
  ASSERT_FALSE(processes.empty());

  switch (cell.blow) {
    case Blow::kKilled:
      compare.Signal(SIGKILL);
      break;
    case Blow::kTerminated:
      compare.Signal(SIGTERM);
      break;
    case Blow::kStoppedShort:
      compare.Signal(SIGSTOP);
      Await(kShortStopS, [] { return false; });
      compare.Signal(SIGCONT);
      break;
    case Blow::kStoppedLong:
      compare.Signal(SIGSTOP);
      // They are its children, so they stay as zombies until it goes on.
      EXPECT_TRUE(Await(EndsWithinS(cell), [&] { return AllGone(processes); }))
          << "a process waits for a launcher that is silent";
      compare.Signal(SIGCONT);
      break;
    default:
      FAIL() << "no signal";
  }
  const double patience_s = GoesOn(cell) ? kPatienceS : EndsWithinS(cell);
  ASSERT_TRUE(Await(patience_s, [&] { return compare.Poll().has_value(); })) << Log();
  const ExitStatus ended = *compare.Poll();
  if (GoesOn(cell)) {
    EXPECT_TRUE(ended.ok()) << Log();
  } else if (cell.blow == Blow::kKilled) {
    EXPECT_EQ(ended.signal, SIGKILL);
  } else {
    EXPECT_EQ(ended.code, cell.blow == Blow::kTerminated ? 143 : 1) << Log();
  }
  EXPECT_TRUE(Await(kLossS, [&] { return AllGone(processes); }));
  const auto same_namespaces = [&] {
    return lab::ListNamespaces().value_or(std::vector<std::string>()) ==
           namespaces_before.value_or(std::vector<std::string>());
  };
  EXPECT_TRUE(Await(kLossS, same_namespaces)) << "a namespace was left behind";
  // A launcher that was killed could not remove the secret; it is good for nothing any more.
  if (cell.blow != Blow::kKilled) {
    EXPECT_FALSE(std::filesystem::exists(run_ + "/token"));
  }
}

std::vector<CompareCase> Cases() {
  std::vector<CompareCase> cases;
  for (const FailureCase& cell : FailureMatrix()) {
    if (cell.victim != Victim::kCompare || NeedsLab(cell)) continue;
    cases.push_back({cell, false});
    const bool ends_it = cell.blow == Blow::kKilled || cell.blow == Blow::kTerminated;
    if (ends_it && cell.moment == Moment::kInAStep) cases.push_back({cell, true});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, CompareFailure, testing::ValuesIn(Cases()), [](const auto& info) {
  return absl::StrCat(NameOf(info.param.cell), info.param.in_lab ? "_in_the_lab" : "");
});

// The compare binary in `directory` to its end, within 90 s; nothing if it still runs.
std::optional<ExitStatus> RunCompare(const std::string& directory, const std::string& argument) {
  const SystemClock clock;
  experiments::SignalWaiter signals;
  auto compare = ChildProcess::Start({.arguments = {"experiments/compare", "--out=out", argument},
                                      .log_path = directory + "/log",
                                      .environment = {{"BUILD_WORKING_DIRECTORY", directory}}});
  EXPECT_TRUE(compare.ok()) << compare.status();
  if (!compare.ok()) return std::nullopt;
  const int64_t deadline_ns = clock.NowNs() + int64_t{90'000'000'000};
  while (!compare->Poll().has_value() && clock.NowNs() < deadline_ns) signals.Wait(0.1);
  EXPECT_TRUE(ChildrenOf(compare->pid()).empty());
  return compare->Poll();
}

// The results' disk is full: the run that could not be kept ends the comparison with the
// file's name; what was written before stays, and the comparison goes on where there is room.
TEST(FullDisk, IsNamedAndEndsTheComparison) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a small file system needs root";
  const std::string directory = testing::TempDir() + "/full-disk";
  const std::string out = directory + "/out";
  ASSERT_TRUE(os::MakeDirectory(out).ok());
  // Room for a run or two.
  if (std::system(absl::StrCat("mount -t tmpfs -o size=128k tmpfs '", out, "'").c_str()) != 0) {
    GTEST_SKIP() << "no right to mount";
  }
  proto::Job job = JobFor({});
  job.set_steps(60);
  job.mutable_comparison()->set_repetitions(4);
  job.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  job.mutable_comparison()->set_network("loopback");
  job.clear_strategy();
  EXPECT_TRUE(os::WriteFile(directory + "/job.textproto", PrintJob(job)).ok());
  const auto full = RunCompare(directory, directory + "/job.textproto");
  const std::string full_log = os::ReadFile(directory + "/log").value_or("no log");
  std::string finished = os::ReadFile(out + "/results.jsonl").value_or("");
  finished.resize(finished.rfind('\n') + 1);
  EXPECT_EQ(std::system(absl::StrCat("mount -o remount,size=8m '", out, "'").c_str()), 0);
  const auto resumed = RunCompare(directory, "--resume");
  const std::string resumed_log = os::ReadFile(directory + "/log").value_or("no log");
  const std::string results = os::ReadFile(out + "/results.jsonl").value_or("");
  EXPECT_EQ(std::system(absl::StrCat("umount '", out, "'").c_str()), 0);
  ASSERT_TRUE(full.has_value()) << full_log;
  EXPECT_EQ(full->code, 1) << full_log;
  EXPECT_THAT(full_log, HasSubstr("No space left on device"));
  EXPECT_THAT(full_log, HasSubstr("full-disk/out"));
  EXPECT_FALSE(finished.empty()) << full_log;
  ASSERT_TRUE(resumed.has_value()) << resumed_log;
  EXPECT_TRUE(resumed->ok()) << resumed_log;
  EXPECT_TRUE(results.starts_with(finished)) << "a finished run was run again";
  EXPECT_EQ(std::count(results.begin(), results.end(), '\n'), 4);
}

}  // namespace
}  // namespace crossover::tests
