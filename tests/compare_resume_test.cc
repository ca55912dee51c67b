// The compare binary's memory: comparisons that were interrupted go on, searches are kept,
// and what is no longer the same comparison is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"
#include "lab/namespaces.h"
#include "os/files.h"
#include "tests/cluster_fixture.h"
#include "tests/lab_available.h"

namespace crossover::tests {
namespace {

using experiments::ChildProcess;
using experiments::ExitStatus;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class CompareResume : public testing::Test {
 protected:
  CompareResume() {
    directory_ = absl::StrCat(testing::TempDir(), "/resume-",
                              testing::UnitTest::GetInstance()->current_test_info()->name());
    // As the binary writes it: TempDir ends in a slash.
    directory_ = std::filesystem::path(directory_).lexically_normal().string();
    EXPECT_TRUE(os::MakeDirectory(directory_).ok());
    job_ = SmallJob(MakeSmallData(1200));
    job_.set_workers(2);
    job_.set_servers(1);
    job_.mutable_comparison()->set_network("loopback");
    job_.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
    job_.mutable_comparison()->add_strategies(proto::Strategy::single);
    job_.mutable_comparison()->set_repetitions(2);
  }

  ChildProcess Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "experiments/compare");
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
    ADD_FAILURE() << "still running after two minutes: " << Read("log");
    return {};
  }
  int Run(std::vector<std::string> arguments) {
    ChildProcess compare = Start(std::move(arguments));
    return End(compare).code;
  }
  void WriteJob() {
    EXPECT_TRUE(os::WriteFile(directory_ + "/job.textproto", PrintJob(job_)).ok());
  }
  std::string Read(const std::string& file) {
    return os::ReadFile(directory_ + "/" + file).value_or("");
  }
  std::vector<nlohmann::json> Lines(const std::string& file) {
    std::vector<nlohmann::json> lines;
    std::istringstream text(Read(file));
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  // "ps_sync r1" of each result, in the order of the file.
  std::vector<std::string> Runs() {
    std::vector<std::string> runs;
    for (const nlohmann::json& result : Lines("out/results.jsonl")) {
      runs.push_back(
          absl::StrCat(std::string(result["strategy"]), " r", result["repetition"].get<int>() + 1));
    }
    return runs;
  }

  experiments::SignalWaiter signals_;
  const SystemClock clock_;
  std::string directory_;
  proto::Job job_;
};

TEST_F(CompareResume, GoesOnWhereCtrlCStoppedIt) {
  job_.set_steps(400);
  WriteJob();
  ChildProcess compare = Start({"--out=out", "job.textproto"});
  while (Read("out/results.jsonl").empty() && !compare.Poll().has_value()) signals_.Wait(0.1);
  kill(compare.pid(), SIGINT);
  ASSERT_EQ(End(compare).code, 130) << Read("log");
  EXPECT_THAT(Read("log"), HasSubstr(absl::StrCat("to go on where it stopped: experiments/run "
                                                  "--resume=",
                                                  directory_, "/out")));
  const std::vector<std::string> before = Runs();
  ASSERT_LT(before.size(), 4u);
  EXPECT_THAT(Read("out/report.md"), HasSubstr("of 4 planned runs have ended"));

  // As a crash in the middle of a write leaves it. The job's file is not needed any more.
  ASSERT_TRUE(
      os::WriteFile(directory_ + "/out/results.jsonl", Read("out/results.jsonl") + "{\"job_na")
          .ok());
  std::filesystem::remove(directory_ + "/job.textproto");
  ASSERT_EQ(Run({"--resume=out"}), 0) << Read("log");
  EXPECT_THAT(Read("log"), HasSubstr("results.jsonl was cut short"));
  EXPECT_THAT(Runs(), ElementsAre("ps_sync r1", "single r1", "single r2", "ps_sync r2"));
  const std::vector<nlohmann::json> results = Lines("out/results.jsonl");
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i]["resume_time"] == "", i < before.size()) << i;
    EXPECT_EQ(results[i]["planned_runs"], 4);
  }
  EXPECT_EQ(Read("out/replaced.jsonl"), "{\"job_na\n");
  EXPECT_THAT(Read("out/report.md"), HasSubstr("interrupted and taken up again"));

  // Nothing is left to do; the folder compared with itself does not differ.
  ASSERT_EQ(Run({"--resume", "--out=out"}), 0) << Read("log");
  EXPECT_THAT(Runs(), SizeIs(4));
  ASSERT_EQ(Run({"--diff", "out", "out", "--out=diff"}), 0) << Read("log");
  EXPECT_THAT(Read("log"), HasSubstr("No figure differs beyond noise"));
  EXPECT_THAT(Read("diff/diff.md"), HasSubstr("No figure differs beyond noise"));
}

// The lab is made anew for the rest: it must be the one that the finished runs had.
TEST_F(CompareResume, GoesOnInALabLikeTheFirstAndLeavesNone) {
  const std::string why_no_lab = WhyNoLab();
  if (!why_no_lab.empty()) GTEST_SKIP() << "no network lab here: " << why_no_lab;
  const auto namespaces = lab::ListNamespaces();
  ASSERT_TRUE(namespaces.ok()) << namespaces.status();
  job_.set_steps(20);
  job_.mutable_comparison()->set_network("100mbit");
  WriteJob();
  ChildProcess compare = Start({"--out=out", "job.textproto"});
  while (Read("out/results.jsonl").empty() && !compare.Poll().has_value()) signals_.Wait(0.05);
  kill(compare.pid(), SIGINT);
  ASSERT_EQ(End(compare).code, 130) << Read("log");
  EXPECT_EQ(lab::ListNamespaces(), namespaces);
  const std::string finished = Read("out/results.jsonl");
  const size_t finished_runs = Runs().size();
  ASSERT_LT(finished_runs, 4u);

  EXPECT_EQ(Run({"--resume=out", "--network=50mbit"}), 1);
  EXPECT_THAT(Read("log"),
              HasSubstr("--network=50mbit: the comparison did not begin with it; fix: "));
  EXPECT_EQ(lab::ListNamespaces(), namespaces);
  EXPECT_EQ(Read("out/results.jsonl"), finished);

  ASSERT_EQ(Run({"--resume=out"}), 0) << Read("log");
  EXPECT_EQ(lab::ListNamespaces(), namespaces);
  EXPECT_TRUE(Read("out/results.jsonl").starts_with(finished)) << "a finished run was run again";
  EXPECT_THAT(Runs(), ElementsAre("ps_sync r1", "single r1", "single r2", "ps_sync r2"));
  const std::vector<nlohmann::json> results = Lines("out/results.jsonl");
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i]["resume_time"] == "", i < finished_runs) << i;
    const nlohmann::json& network = results[i]["network"];
    EXPECT_THAT(network["kind"].get<std::string>(), StartsWith("lab: "));
    for (const char* same : {"kind", "shaping", "interface", "placement", "congestion_control"}) {
      EXPECT_EQ(network[same], results[0]["network"][same]) << same;
    }
  }

  // Had the finished runs had another link, the last one would not be theirs.
  std::string others;
  for (nlohmann::json result : {results[0], results[1], results[2]}) {
    result["network"]["shaping"] = "1gbit";
    others += result.dump() + "\n";
  }
  ASSERT_TRUE(os::WriteFile(directory_ + "/out/results.jsonl", others).ok());
  EXPECT_EQ(Run({"--resume=out"}), 1);
  EXPECT_THAT(Read("log"), AllOf(HasSubstr("the network was lab: "), HasSubstr(", 1gbit, "),
                                 HasSubstr("; it is lab: "), HasSubstr("100mbit"),
                                 HasSubstr("fix: start anew with another --out")));
  EXPECT_EQ(lab::ListNamespaces(), namespaces);
  EXPECT_EQ(Read("out/results.jsonl"), others);
}

TEST_F(CompareResume, RefusesWhatIsNotTheSameComparison) {
  job_.mutable_comparison()->set_repetitions(1);
  WriteJob();
  ASSERT_EQ(Run({"--out=out", "job.textproto"}), 0) << Read("log");
  const std::string results = Read("out/results.jsonl");
  EXPECT_EQ(Run({"--resume=out", "--global_batch=64"}), 1);
  EXPECT_THAT(Read("log"), HasSubstr("global_batch: "));
  EXPECT_EQ(Run({"--resume=out", "--interface=192.0.2.1"}), 1);
  EXPECT_THAT(Read("log"),
              HasSubstr("--interface=192.0.2.1: the comparison did not begin with it"));
  EXPECT_EQ(Run({"--resume=nowhere"}), 1);
  EXPECT_THAT(Read("log"), HasSubstr("no comparison began here"));
  EXPECT_EQ(Run({"--resume"}), 1);
  EXPECT_THAT(Read("log"), HasSubstr("fix: --resume=FOLDER"));
  EXPECT_EQ(Run({"--out=out", "job.textproto"}), 1);
  EXPECT_THAT(Read("log"), HasSubstr(absl::StrCat("--resume=", directory_, "/out")));
  nlohmann::json record = nlohmann::json::parse(Read("out/comparison.json"));
  record["programs"]["worker"] = "0000000000000000";
  record["environment"]["hostname"] = "elsewhere";
  ASSERT_TRUE(os::WriteFile(directory_ + "/out/comparison.json", record.dump()).ok());
  EXPECT_EQ(Run({"--resume=out"}), 1);
  EXPECT_THAT(Read("log"), HasSubstr("the worker program is another build"));
  EXPECT_THAT(Read("log"), HasSubstr("the host was elsewhere"));
  EXPECT_EQ(Read("out/results.jsonl"), results);
}

TEST_F(CompareResume, SearchesTheLearningRateOnceAndShowsIt) {
  job_.mutable_comparison()->set_repetitions(1);
  job_.mutable_comparison()->mutable_tune()->mutable_lr()->set_trials(2);
  WriteJob();
  ASSERT_EQ(Run({"--dry-run", "job.textproto"}), 0) << Read("log");
  EXPECT_THAT(Read("log"), HasSubstr("4 extra runs"));
  ASSERT_EQ(Run({"--out=out", "job.textproto"}), 0) << Read("log");
  const std::string trials = Read("out/tuning.jsonl");
  EXPECT_THAT(Lines("out/tuning.jsonl"), SizeIs(4));
  for (const nlohmann::json& result : Lines("out/results.jsonl")) {
    EXPECT_THAT(result["tuning"]["trials"], SizeIs(2));
    EXPECT_THAT(
        std::string(result["resolved_job"]),
        HasSubstr(absl::StrCat("base: ", result["tuning"]["chosen_learning_rate"].get<double>())));
  }
  EXPECT_THAT(Read("out/report.md"), HasSubstr("Search for the learning rate"));
  EXPECT_THAT(Read("out/report.html"), HasSubstr("Search for the learning rate"));
  // Its results are lost, its search is not.
  std::filesystem::remove(directory_ + "/out/results.jsonl");
  ASSERT_EQ(Run({"--resume=out"}), 0) << Read("log");
  EXPECT_THAT(Runs(), SizeIs(2));
  EXPECT_EQ(Read("out/tuning.jsonl"), trials);
}

}  // namespace
}  // namespace crossover::tests
