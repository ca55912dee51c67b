// The compare binary as a user meets it: what it refuses, what it leaves behind, and
// that nothing of it goes on running, whatever its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"
#include "os/files.h"
#include "tests/child_processes.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

using experiments::ChildProcess;
using experiments::ExitStatus;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Compare : public testing::Test {
 protected:
  Compare() {
    directory_ = absl::StrCat(testing::TempDir(), "/compare-",
                              testing::UnitTest::GetInstance()->current_test_info()->name());
    EXPECT_TRUE(os::MakeDirectory(directory_).ok());
    job_ = SmallJob(MakeSmallData(1200));
    job_.set_workers(2);
    job_.set_servers(1);
    job_.mutable_comparison()->set_repetitions(1);
    // As root the default is a network lab; compare_failure_test has that.
    job_.mutable_comparison()->set_network("loopback");
  }

  ChildProcess Start(std::vector<std::string> arguments) {
    EXPECT_TRUE(os::WriteFile(directory_ + "/job.textproto", PrintJob(job_)).ok());
    arguments.insert(arguments.begin(), "experiments/compare");
    arguments.push_back(directory_ + "/job.textproto");
    auto child = ChildProcess::Start({.arguments = arguments,
                                      .log_path = directory_ + "/log",
                                      .environment = {{"BUILD_WORKING_DIRECTORY", directory_}}});
    EXPECT_TRUE(child.ok()) << child.status();
    return std::move(*child);
  }
  ExitStatus End(ChildProcess& child) {
    const int64_t deadline_ns = clock_.NowNs() + int64_t{120'000'000'000};
    while (clock_.NowNs() < deadline_ns) {
      if (const auto ended = child.Poll()) return *ended;
      signals_.Wait(0.1);
    }
    ADD_FAILURE() << "still running after two minutes: " << Log();
    return {};
  }
  std::string Log() { return os::ReadFile(directory_ + "/log").value_or(""); }
  std::vector<nlohmann::json> Results(const std::string& out = "out") {
    std::vector<nlohmann::json> results;
    std::istringstream lines(os::ReadFile(directory_ + "/" + out + "/results.jsonl").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      results.push_back(nlohmann::json::parse(line));
    }
    return results;
  }
  // Until a second run is under way; the processes of that moment.
  std::vector<int> ProcessesOfTheSecondRun(ChildProcess& compare) {
    while (Results().empty() && !compare.Poll().has_value()) signals_.Wait(0.1);
    std::vector<int> children;
    while (children.size() < 2 && !compare.Poll().has_value()) {
      signals_.Wait(0.2);
      children = ChildrenOf(compare.pid());
    }
    return children;
  }
  // Whether all have gone within a few seconds.
  bool AllGone(const std::vector<int>& pids) {
    for (int i = 0; i < 50; ++i) {
      bool running = false;
      for (const int pid : pids) running = running || IsRunning(pid);
      if (!running) return true;
      signals_.Wait(0.1);
    }
    return false;
  }

  experiments::SignalWaiter signals_;
  const SystemClock clock_;
  std::string directory_;
  proto::Job job_;
};

TEST_F(Compare, WritesOneLineARunAndTheReports) {
  ChildProcess compare = Start({"--out=out"});
  ASSERT_TRUE(End(compare).ok()) << Log();
  const std::vector<nlohmann::json> results = Results();
  ASSERT_EQ(results.size(), 6u);
  std::set<std::string> strategies;
  for (const nlohmann::json& result : results) {
    strategies.insert(result["strategy"]);
    for (const char* field : {"strategy",
                              "workers",
                              "servers",
                              "repetition",
                              "samples_per_second",
                              "step_ms_median",
                              "step_ms_p95",
                              "communication_share",
                              "hidden_ms",
                              "exposed_ms",
                              "wait_ms",
                              "bytes_sent_per_step",
                              "bytes_received_per_step",
                              "wire_bytes_sent_per_step",
                              "staleness",
                              "test_accuracy",
                              "time_to_target_s",
                              "machine_seconds",
                              "peak_rss_bytes",
                              "resolved_job",
                              "environment",
                              "rerun_command"}) {
      EXPECT_TRUE(result.contains(field)) << field << " in " << result["strategy"];
    }
    EXPECT_GT(result["samples_per_second"], 0);
    EXPECT_GT(result["peak_rss_bytes"], 10 << 20);
    EXPECT_THAT(std::string(result["environment"]["blas_library"]), HasSubstr("openblas-openmp"));
    EXPECT_TRUE(ParseJob(std::string(result["resolved_job"]), "resolved_job").ok());
  }
  EXPECT_EQ(strategies.size(), 6u);
  EXPECT_THAT(os::ReadFile(directory_ + "/out/report.md").value_or(""), HasSubstr("ps\\_ssp"));
  EXPECT_THAT(os::ReadFile(directory_ + "/out/report.html").value_or(""), HasSubstr("</html>"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/out/runs/001-single-mlp-r1/token"));
}

TEST_F(Compare, DryRunStartsNothing) {
  ChildProcess compare = Start({"--dry-run"});
  ASSERT_TRUE(End(compare).ok()) << Log();
  EXPECT_THAT(Log(), HasSubstr("Nothing was started."));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/results"));
}

TEST_F(Compare, RefusesAWrongFlagBeforeAnythingStarts) {
  ChildProcess compare = Start({"--workers=0"});
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr("workers"));
  ChildProcess unknown = Start({"--optimizer.momentun=0.5"});
  EXPECT_EQ(End(unknown).code, 1);
  EXPECT_THAT(Log(), HasSubstr("optimizer.momentum"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/results"));
}

TEST_F(Compare, ADryRunRefusesWhatARunWould) {
  std::ofstream(directory_ + "/hosts") << "10.0.0.1 slots=0\n";
  std::filesystem::create_directory(directory_ + "/full");
  std::ofstream(directory_ + "/full/file") << "x";
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"--network=1gbits"}, "comparison.network is 1gbits: "},
      {{"--network=1gbit", "--interface=lo"}, "is no place in a lab"},
      {{"--network=1gbit", "--comparison.congestion_control=nonsense"},
       "congestion control 'nonsense' (this kernel has: "},
      {{"--comparison.congestion_control=reno"}, "where no network lab is made"},
      {{"--hosts=nowhere"}, "nowhere"},
      {{"--hosts=hosts"}, "hosts:1: slots"},
      {{"--hosts=hosts", "--model=emulated", "--steps=30", "--emulated.bytes_scale=8"},
       "emulated.bytes_scale is 8 with --hosts; allowed: 1"},
      {{"--remote-clean"}, "means nothing without --hosts=FILE"},
      {{"--out=full"}, "the folder is not empty"},
  };
  for (auto [flags, message] : wrong) {
    flags.push_back("--dry-run");
    ChildProcess compare = Start(flags);
    EXPECT_EQ(End(compare).code, 1) << Log();
    EXPECT_THAT(Log(), AllOf(HasSubstr(message), Not(HasSubstr("Nothing was started"))));
  }
}

// A name is no path, and two comparisons may begin in the same second.
TEST_F(Compare, TheDefaultFolderIsInResults) {
  job_.mutable_comparison()->clear_strategies();
  job_.mutable_comparison()->add_strategies(proto::Strategy::single);
  ChildProcess first = Start({"--name=../a/b"});
  ChildProcess second = Start({"--name=../a/b"});
  EXPECT_TRUE(End(first).ok()) << Log();
  EXPECT_TRUE(End(second).ok()) << Log();
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/results")) {
    EXPECT_THAT(entry.path().filename().string(), HasSubstr("-..-a-b"));
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "results.jsonl"));
    ++folders;
  }
  EXPECT_EQ(folders, 2);
}

// Relative paths are those of the place where it began.
TEST_F(Compare, IsResumedFromAnotherPlace) {
  std::filesystem::create_symlink(std::filesystem::absolute("worker/worker"),
                                  directory_ + "/worker_here");
  job_.mutable_comparison()->clear_strategies();
  job_.mutable_comparison()->add_strategies(proto::Strategy::single);
  ChildProcess compare = Start({"--out=out", "--worker-binary=worker_here"});
  ASSERT_TRUE(End(compare).ok()) << Log();
  std::filesystem::create_directory(directory_ + "/elsewhere");
  directory_ += "/elsewhere";
  ChildProcess again = Start({"--resume=../out"});
  EXPECT_TRUE(End(again).ok()) << Log();
}

TEST_F(Compare, SaysWhereAComparisonsStrategiesAreNamed) {
  ChildProcess compare = Start({"--strategy=ps_async"});
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr("--comparison.strategies=ps_async"));
}

TEST_F(Compare, HelpIsNoWiderThan100Columns) {
  ChildProcess compare = Start({"--help"});
  EXPECT_TRUE(End(compare).ok()) << Log();
  EXPECT_THAT(Log(), HasSubstr("--global_batch"));
  std::istringstream lines(Log());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST_F(Compare, SaysThatTheStrategyOfAFileIsIgnored) {
  job_.clear_strategy();
  ChildProcess without = Start({"--dry-run"});
  EXPECT_TRUE(End(without).ok()) << Log();
  EXPECT_THAT(Log(), Not(HasSubstr("ignored")));
  job_.set_strategy(proto::Strategy::ps_async);
  ChildProcess with = Start({"--dry-run"});
  EXPECT_TRUE(End(with).ok()) << Log();
  EXPECT_THAT(Log(), ContainsRegex("job.textproto:[0-9]+:1: strategy is ignored.*"
                                   "comparison.strategies chooses them"));
}

TEST_F(Compare, RefusesDamagedDataByNameBeforeAnythingStarts) {
  const std::string data = directory_ + "/data";
  std::filesystem::copy(MakeSmallData(1200), data);
  std::filesystem::resize_file(data + "/train-images-idx3-ubyte", 1000);
  job_.mutable_data()->set_path(data);
  ChildProcess compare = Start({"--out=out"});
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr("train-images-idx3-ubyte"));
  EXPECT_THAT(Log(), HasSubstr("1000"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/out"));
}

TEST_F(Compare, ADryRunRefusesAWrongLabelToo) {
  const std::string data = directory_ + "/data";
  std::filesystem::copy(MakeSmallData(1200), data);
  std::fstream labels(data + "/train-labels-idx1-ubyte", std::ios::in | std::ios::out);
  labels.seekp(8 + 700).put(static_cast<char>(200));
  labels.close();
  job_.mutable_data()->set_path(data);
  ChildProcess compare = Start({"--dry-run"});
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr("train-labels-idx1-ubyte: byte 708: label 200"));
}

TEST_F(Compare, RefusesAFolderThatHoldsResults) {
  ASSERT_TRUE(os::MakeDirectory(directory_ + "/out").ok());
  ASSERT_TRUE(os::WriteFile(directory_ + "/out/results.jsonl", "{}\n").ok());
  ChildProcess compare = Start({"--out=out"});
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr("not empty"));
  EXPECT_EQ(os::ReadFile(directory_ + "/out/results.jsonl").value_or(""), "{}\n");
}

class Ending : public Compare, public testing::WithParamInterface<int> {};

// Many runs of a few seconds each: one has ended, another is under way.
TEST_P(Ending, TakesDownItsProcessesAndKeepsFinishedResults) {
  job_.set_steps(1500);
  job_.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  job_.mutable_comparison()->set_repetitions(50);
  ChildProcess compare = Start({"--out=out"});
  const std::vector<int> children = ProcessesOfTheSecondRun(compare);
  ASSERT_GE(children.size(), 2u) << Log();
  ASSERT_EQ(kill(compare.pid(), GetParam()), 0);
  const ExitStatus ended = End(compare);
  if (GetParam() == SIGKILL) {
    EXPECT_EQ(ended.signal, SIGKILL);
  } else {
    EXPECT_EQ(ended.code, GetParam() == SIGINT ? 130 : 143) << Log();
  }
  EXPECT_TRUE(AllGone(children));
  EXPECT_GE(Results().size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/out/report.html"));
}

INSTANTIATE_TEST_SUITE_P(All, Ending, testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto& info) {
                           return info.param == SIGINT    ? "CtrlC"
                                  : info.param == SIGTERM ? "Sigterm"
                                                          : "Killed";
                         });

// That a strategy diverges is what a comparison finds out: no reason to stop.
TEST_F(Compare, GoesOnAfterARunThatDivergesAndEndsWithAnError) {
  job_.mutable_learning_rate()->set_base(1e5);
  job_.mutable_comparison()->add_strategies(proto::Strategy::ps_async);
  job_.mutable_comparison()->add_strategies(proto::Strategy::allreduce_ring);
  ChildProcess compare = Start({"--out=out"});
  EXPECT_EQ(End(compare).code, 1);
  const std::vector<nlohmann::json> results = Results();
  ASSERT_EQ(results.size(), 2u);
  for (const nlohmann::json& result : results) {
    EXPECT_THAT(result["failure"].get<std::string>(),
                AllOf(HasSubstr("diverged in step"), HasSubstr("--learning_rate.base")));
  }
  EXPECT_THAT(Log(), HasSubstr("diverged in step"));
}

TEST_F(Compare, AFailedRunKeepsTheOthersAndSaysWhy) {
  job_.set_steps(1500);
  job_.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  job_.mutable_comparison()->set_repetitions(50);
  ChildProcess compare = Start({"--out=out"});
  const std::vector<int> children = ProcessesOfTheSecondRun(compare);
  ASSERT_GE(children.size(), 2u) << Log();
  kill(children.front(), SIGKILL);
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_TRUE(AllGone(children));
  EXPECT_THAT(Log(), HasSubstr("killed by signal 9"));
  const std::vector<nlohmann::json> results = Results();
  ASSERT_GE(results.size(), 2u);
  EXPECT_EQ(results.front()["failure"], "");
  EXPECT_NE(results.back()["failure"], "");
}

}  // namespace
}  // namespace crossover::tests
