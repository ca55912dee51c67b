#include "experiments/results/reduce_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "experiments/report/report_fixture.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;

class ReduceReportsTest : public testing::Test {
 protected:
  ReduceReportsTest() {
    root_ = absl::StrCat(testing::TempDir(), "/reduce-",
                         testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
    machine_.hostname = "here";
    machine_.cores = 8;
    job_ = WithDefaults(TestJob(proto::Strategy::allreduce_ring, 2));
  }
  // A folder with the job and two reports of processes on `hosts`.
  std::string WriteRun(const std::string& name, const std::vector<std::string>& hosts) {
    const std::string directory = absl::StrCat(root_, "/", name);
    EXPECT_TRUE(os::MakeDirectory(directory).ok());
    EXPECT_TRUE(os::WriteFile(directory + "/job.textproto", PrintJob(job_)).ok());
    std::vector<proto::ProcessReport> reports = TwoRanks();
    for (size_t i = 0; i < reports.size(); ++i) {
      reports[i].set_host(hosts[i]);
      reports[i].set_data_address(absl::StrCat("10.0.0.", i + 1, ":4000"));
      EXPECT_TRUE(os::WriteFile(absl::StrCat(directory, "/worker-", i, ".report"),
                                reports[i].SerializeAsString())
                      .ok());
    }
    return directory;
  }
  absl::StatusOr<std::vector<RunResult>> Reduce(const std::vector<std::string>& paths,
                                                const std::string& job_path = "",
                                                const ParsedFlags& parsed = {}) {
    const auto runs = ReadReportedRuns(paths, job_path, parsed);
    if (!runs.ok()) return runs.status();
    return ReduceReportedRuns(*runs, "experiments/run --reduce", machine_);
  }
  void ExpectError(const absl::StatusOr<std::vector<RunResult>>& results, const std::string& part) {
    EXPECT_THAT(std::string(results.status().message()), HasSubstr(part));
  }

  std::string root_;
  Environment machine_;
  proto::Job job_;
};

TEST_F(ReduceReportsTest, AFolderIsARun) {
  const auto results = Reduce({WriteRun("a", {"here", "here"})});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 1u);
  const RunResult& run = results->front();
  EXPECT_TRUE(run.ok());
  EXPECT_EQ(run.strategy, "allreduce_ring");
  EXPECT_EQ(run.workers, 2);
  EXPECT_DOUBLE_EQ(run.samples_per_second, 1280);  // reduce_run_test works it out
  EXPECT_EQ(run.rerun_command, "experiments/run --reduce");
  EXPECT_EQ(run.environment.cores, 8);
  EXPECT_EQ(run.network.interface, "10.0.0.1, 10.0.0.2");
  EXPECT_TRUE(run.network.loopback);
  EXPECT_THAT(run.notes.back(), HasSubstr("started by hand"));
}

TEST_F(ReduceReportsTest, OfOtherHostsOnlyTheNamesAreKnown) {
  const auto results = Reduce({WriteRun("a", {"here", "there"})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->front().environment.hostname, "here, there");
  EXPECT_EQ(results->front().environment.cores, 0);
  EXPECT_FALSE(results->front().network.loopback);
}

TEST_F(ReduceReportsTest, RunsOfOneStrategyAreRepetitions) {
  const std::string first = WriteRun("a", {"here", "here"});
  job_.set_seed(7);
  const std::string second = WriteRun("b", {"here", "here"});
  job_.set_strategy(proto::Strategy::local_sgd);
  const std::string other = WriteRun("c", {"here", "here"});
  const auto results = Reduce({first, other, second});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 3u);
  EXPECT_EQ((*results)[0].repetition, 0);
  EXPECT_EQ((*results)[1].repetition, 0);
  EXPECT_EQ((*results)[1].strategy, "local_sgd");
  EXPECT_EQ((*results)[2].repetition, 1);
}

TEST_F(ReduceReportsTest, FilesAreARunTogether) {
  const std::string directory = WriteRun("a", {"here", "here"});
  const std::vector<std::string> files = {directory + "/worker-1.report",
                                          directory + "/worker-0.report"};
  EXPECT_TRUE(Reduce(files).ok());
  const std::string elsewhere = root_ + "/elsewhere.textproto";
  std::filesystem::rename(directory + "/job.textproto", elsewhere);
  ExpectError(Reduce(files),
              "job.textproto: not there; fix: copy the run's job to it, or name it "
              "with --job=FILE");
  EXPECT_TRUE(Reduce(files, elsewhere).ok());
  ParsedFlags parsed;
  parsed.job_overrides = {{"name", "renamed"}};
  EXPECT_EQ(Reduce(files, elsewhere, parsed)->front().job_name, "renamed");
}

TEST_F(ReduceReportsTest, RefusesWhatIsNoRun) {
  ExpectError(Reduce({}), "--reduce: no run was named; allowed: folders");
  ExpectError(Reduce({root_ + "/nowhere"}), "nowhere: no such folder or file");
  ASSERT_TRUE(os::MakeDirectory(root_ + "/empty").ok());
  ExpectError(Reduce({root_ + "/empty"}), "empty: no *.report file; fix: start every process");

  const std::string directory = WriteRun("a", {"here", "here"});
  ASSERT_TRUE(os::WriteFile(directory + "/worker-0.report", "\xff\xff").ok());
  ExpectError(Reduce({directory}), "worker-0.report: not a whole ProcessReport");
  std::filesystem::remove(directory + "/worker-0.report");
  ExpectError(Reduce({directory}), absl::StrCat(directory, ": the report of worker "));
}

TEST_F(ReduceReportsTest, RefusesDifferentJobsOfOneName) {
  const std::string first = WriteRun("a", {"here", "here"});
  job_.mutable_learning_rate()->set_base(0.5);
  const std::string second = WriteRun("b", {"here", "here"});
  ExpectError(Reduce({first, second}), "differ in more than strategy and seed; fix: give them");
  job_.set_name("another");
  WriteRun("b", {"here", "here"});
  EXPECT_TRUE(Reduce({first, second}).ok());
}

TEST_F(ReduceReportsTest, WritesWhatAComparisonWrites) {
  const std::string first = WriteRun("a", {"here", "here"});
  const std::string second = WriteRun("b", {"here", "here"});
  ReduceOptions options = {{first, second}, "", "", "experiments/run --reduce"};
  EXPECT_THAT(std::string(ReduceReports(options, {}, machine_).status().message()),
              HasSubstr("where to is not said; fix: --out=FOLDER"));
  options.out = root_ + "/out";
  ASSERT_TRUE(ReduceReports(options, {}, machine_).ok());
  const auto read = ParseResults(os::ReadFile(options.out + "/results.jsonl").value());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[1].repetition, 1);
  EXPECT_THAT(os::ReadFile(options.out + "/report.md").value(), HasSubstr("allreduce_ring"));
  EXPECT_THAT(os::ReadFile(options.out + "/report.html").value(), HasSubstr("allreduce_ring"));
  EXPECT_THAT(std::string(ReduceReports(options, {}, machine_).status().message()),
              HasSubstr("out/results.jsonl: there already; fix: name a new folder with --out="));
  // One run's folder takes its own reports.
  const auto alone = ReduceReports({{first}, "", "", ""}, {}, machine_);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->directory, first);
  EXPECT_TRUE(std::filesystem::exists(first + "/report.html"));
}

}  // namespace
}  // namespace crossover::experiments
