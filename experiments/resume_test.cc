#include "experiments/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/job.h"
#include "experiments/results/result_fixture.h"
#include "experiments/resume_folder.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

proto::Job SmallJob() {
  proto::Job job;
  job.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  job.mutable_comparison()->add_strategies(proto::Strategy::allreduce_ring);
  job.mutable_comparison()->set_repetitions(2);
  return WithDefaults(job);
}

std::vector<PlannedRun> Runs(const proto::Job& job = SmallJob()) {
  auto runs = PlanRuns({job});
  EXPECT_TRUE(runs.ok()) << runs.status();
  return *runs;
}

RunResult ResultOf(const PlannedRun& run) {
  RunResult result = MadeUpRun(StrategyName(run.job.strategy()),
                               run.job.strategy() == proto::Strategy::ps_sync ? 2 : 0,
                               run.repetition, 40000, 0.88);
  result.job_fingerprint = absl::StrFormat("%016x", JobFingerprint(run.job));
  return result;
}

std::string ErrorOf(const absl::Status& status) { return std::string(status.message()); }

ComparisonRecord Record() {
  ComparisonRecord record;
  record.start_time = "2026-03-01T12:00:00Z";
  record.arguments = {"--workers=4", "my job.textproto"};
  record.rerun_command = "experiments/run --workers=4 'my job.textproto'";
  record.working_directory = "/home/me";
  record.jobs = {PrintJob(SmallJob())};
  record.programs = {{"worker", "0123456789abcdef"}, {"server", "fedcba9876543210"}};
  record.environment.hostname = "lab1";
  record.environment.cores = 2;
  record.environment.git_commit = "abc";
  record.environment.versions = {{"gRPC", "1.51.1"}};
  return record;
}

TEST(ComparisonRecordTest, RoundTrip) {
  const std::string text = PrintRecord(Record());
  const auto record = ParseRecord(text);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(PrintRecord(*record), text);
  const auto jobs = JobsOf(*record);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(PrintJob(jobs->front()), PrintJob(SmallJob()));
}

TEST(ComparisonRecordTest, RefusesWhatItCannotTrust) {
  EXPECT_THAT(ErrorOf(ParseRecord("{\"format\":").status()), HasSubstr("not one JSON object"));
  EXPECT_THAT(ErrorOf(ParseRecord("{}").status()), HasSubstr("'format' is missing"));
  ComparisonRecord record = Record();
  record.format = 2;
  EXPECT_THAT(ErrorOf(ParseRecord(PrintRecord(record)).status()), HasSubstr("format 2"));
  record.jobs = {"workers: 0"};
  EXPECT_THAT(ErrorOf(JobsOf(record).status()), HasSubstr("workers"));
  record.jobs = {};
  EXPECT_THAT(ErrorOf(JobsOf(record).status()), HasSubstr("no job"));
}

TEST(ComparePlacesTest, RefusesAnotherBuildMachineOrVersionAndNotesTheRest) {
  const ComparisonRecord then = Record();
  PlaceDifferences same = ComparePlaces(then, then);
  EXPECT_THAT(same.refused, IsEmpty());
  EXPECT_THAT(same.noted, IsEmpty());
  ComparisonRecord now = then;
  now.programs["worker"] = "0000000000000000";
  now.environment.hostname = "lab2";
  now.environment.cores = 4;
  now.environment.versions = {{"gRPC", "1.52.0"}, {"BLAS overrides", "X=1"}};
  now.environment.git_commit = "def";
  now.environment.kernel = "Linux 7";
  const PlaceDifferences differences = ComparePlaces(then, now);
  EXPECT_THAT(differences.refused,
              ElementsAre("the worker program is another build", "the host was lab1, is lab2",
                          "the number of usable cores was 2, is 4", "gRPC was 1.51.1, is 1.52.0",
                          "BLAS overrides was unknown, is X=1"));
  EXPECT_THAT(differences.noted,
              ElementsAre("the kernel was unknown, is Linux 7", "the commit was abc, is def"));
}

TEST(CheckJobsTest, NamesTheFieldsThatDiffer) {
  EXPECT_TRUE(CheckJobs({SmallJob()}, {SmallJob()}).ok());
  proto::Job other = SmallJob();
  other.set_workers(8);
  EXPECT_THAT(ErrorOf(CheckJobs({SmallJob()}, {other})),
              AllOf(HasSubstr("workers: 4, then 8"), HasSubstr("fix:")));
  EXPECT_THAT(ErrorOf(CheckJobs({SmallJob()}, {SmallJob(), other})), HasSubstr("1 jobs, then 2"));
}

TEST(FolderStateTest, AnEmptyFolderHasNothing) {
  const auto state = ReadFolderState("", "", Runs(), {});
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_THAT(state->finished, IsEmpty());
  EXPECT_EQ(state->removed, "");
}

TEST(FolderStateTest, KeepsFinishedRunsAndTakesOutFailedOnes) {
  const std::vector<PlannedRun> runs = Runs();
  RunResult failed = ResultOf(runs[1]);
  failed.failure = "worker 1 was lost";
  const std::string first = ToJsonLine(ResultOf(runs[0])) + "\n";
  const std::string second = ToJsonLine(failed) + "\n";
  const auto state = ReadFolderState(first + second, "", runs, {});
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_THAT(state->finished, SizeIs(1));
  EXPECT_TRUE(IsOf(state->finished[0], runs[0]));
  EXPECT_FALSE(IsOf(state->finished[0], runs[1]));
  ASSERT_THAT(state->failed, SizeIs(1));
  EXPECT_EQ(state->results, first);
  EXPECT_EQ(state->removed, second);
  EXPECT_THAT(state->messages, IsEmpty());
}

TEST(FolderStateTest, LeavesOutALastLineThatWasCutWhereverItWasCut) {
  const std::vector<PlannedRun> runs = Runs();
  const std::string first = ToJsonLine(ResultOf(runs[0])) + "\n";
  const std::string second = ToJsonLine(ResultOf(runs[1]));
  // Nothing but the newline missing, some bytes, one byte; and rubbish behind a newline.
  for (const size_t bytes : {second.size(), second.size() / 2, size_t{1}}) {
    const auto state = ReadFolderState(first + second.substr(0, bytes), "", runs, {});
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_THAT(state->finished, SizeIs(1));
    EXPECT_EQ(state->results, first);
    EXPECT_EQ(state->removed, second.substr(0, bytes) + "\n");
    EXPECT_THAT(state->messages, ElementsAre(AllOf(HasSubstr("results.jsonl was cut short"),
                                                   HasSubstr(absl::StrCat(bytes, " bytes")),
                                                   HasSubstr("its run is made again"))));
  }
  const auto state = ReadFolderState(first + std::string(20, '\0') + "\n", "", runs, {});
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_THAT(state->finished, SizeIs(1));
}

TEST(FolderStateTest, ACutLineBehindAllRunsAsksForNone) {
  const std::vector<PlannedRun> runs = Runs();
  std::string all;
  for (const PlannedRun& run : runs) all += ToJsonLine(ResultOf(run)) + "\n";
  const auto state = ReadFolderState(all + all.substr(0, 50), "", runs, {});
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_THAT(state->finished, SizeIs(runs.size()));
  EXPECT_THAT(state->messages, ElementsAre(HasSubstr("it is left out: every run has a whole one")));
}

TEST(FolderStateTest, RefusesADamagedLineThatIsNotTheLast) {
  const std::vector<PlannedRun> runs = Runs();
  const std::string line = ToJsonLine(ResultOf(runs[0])) + "\n";
  EXPECT_EQ(ErrorOf(ReadFolderState("\n{\"job\n" + line, "", runs, {}).status()),
            "results.jsonl: results line 2: not one JSON object; fix: take the line out, and "
            "--resume=FOLDER makes its run");
  EXPECT_EQ(ErrorOf(ReadFolderState("", "\n{\"job\n{}\n", runs, {}).status()),
            "tuning.jsonl: tuning line 2: not one JSON object; fix: take the line out, and "
            "--resume=FOLDER makes its trial");
  // The last whole line is no other.
  EXPECT_THAT(ErrorOf(ReadFolderState("{\"job\n{\"cut", "", runs, {}).status()),
              HasSubstr("results line 1: not one JSON object; fix: take the line out"));
  // As the fix says.
  EXPECT_TRUE(ReadFolderState("\n" + line, "", runs, {}).ok());
}

TEST(FolderStateTest, RefusesResultsOfAnotherComparison) {
  const std::vector<PlannedRun> runs = Runs();
  const RunResult result = ResultOf(runs[0]);
  const auto refused = [&](const RunResult& changed) {
    return ErrorOf(ReadFolderState(ToJsonLine(changed) + "\n", "", runs, {}).status());
  };
  RunResult other = result;
  other.repetition = 2;
  EXPECT_THAT(refused(other), HasSubstr("ps_sync mlp r3 is no run of this comparison"));
  other = result;
  other.strategy = "local_sgd";
  EXPECT_THAT(refused(other), HasSubstr("no run of this comparison"));
  other = result;
  other.job_fingerprint = "00c0ffee00c0ffee";
  EXPECT_THAT(refused(other), HasSubstr("trained another job"));
  const std::string line = ToJsonLine(result) + "\n";
  EXPECT_THAT(ErrorOf(ReadFolderState(line + line, "", runs, {}).status()),
              HasSubstr("line 2: ps_sync mlp r1 is there already"));
}

TEST(FolderStateTest, ATunedRunIsKnownByTheRateThatWasChosen) {
  const std::vector<PlannedRun> runs = Runs();
  proto::Job tuned = runs[0].job;
  tuned.mutable_learning_rate()->set_base(0.05);
  RunResult result = ResultOf(runs[0]);
  result.tuning = Tuning{"budget", {{0.05, 0.8, 0.4}}, 0.05};
  const std::string planned = ToJsonLine(result) + "\n";
  EXPECT_FALSE(ReadFolderState(planned, "", runs, {}).ok());
  result.job_fingerprint = absl::StrFormat("%016x", JobFingerprint(tuned));
  EXPECT_TRUE(ReadFolderState(ToJsonLine(result) + "\n", "", runs, {}).ok());
}

TEST(FolderStateTest, KeepsTrialsThatEndedWell) {
  proto::Job job = SmallJob();
  job.mutable_comparison()->mutable_tune()->mutable_lr()->set_trials(2);
  const auto trials = PlanTrials({job}, {{job.model(), 100}});
  ASSERT_TRUE(trials.ok()) << trials.status();
  const auto record = [&](size_t i) {
    TrialRecord made = RecordOf((*trials)[i], ResultOf((*trials)[i].run));
    made.strategy = StrategyName((*trials)[i].run.job.strategy());
    return made;
  };
  TrialRecord failed = record(1);
  failed.failure = "lost";
  const auto state = ReadFolderState("",
                                     absl::StrCat(ToJsonLine(record(0)), "\n", ToJsonLine(failed),
                                                  "\n", ToJsonLine(record(2)).substr(0, 30)),
                                     Runs(job), *trials);
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_THAT(state->trials, SizeIs(1));
  EXPECT_TRUE(IsOf(state->trials[0], (*trials)[0]));
  EXPECT_THAT(state->messages, ElementsAre(HasSubstr("tuning.jsonl was cut short")));
  TrialRecord other = record(0);
  other.job_fingerprint = "00c0ffee00c0ffee";
  EXPECT_THAT(ErrorOf(ReadFolderState("", ToJsonLine(other) + "\n", Runs(job), *trials).status()),
              HasSubstr("tuning.jsonl line 1: ps_sync at 0.0125 is no trial of this comparison"));
}

TEST(CheckNetworkTest, RefusesAnotherNetwork) {
  RunResult result = MadeUpRun("ps_sync", 2, 0, 40000, .88);
  Network now = result.network;
  EXPECT_TRUE(CheckNetwork({result}, now).ok());
  EXPECT_TRUE(CheckNetwork({}, now).ok());
  now.shaping = "1gbit";
  EXPECT_THAT(ErrorOf(CheckNetwork({result}, now)),
              AllOf(HasSubstr("unshaped"), HasSubstr("it is loopback, 1gbit")));
}

class Folder : public testing::Test {
 protected:
  Folder() {
    directory_ = absl::StrCat(testing::TempDir(), "/resume-",
                              testing::UnitTest::GetInstance()->current_test_info()->name());
    EXPECT_TRUE(os::MakeDirectory(directory_).ok());
  }
  std::string Read(const std::string& file) {
    return os::ReadFile(directory_ + "/" + file).value_or("");
  }
  std::string directory_;
};

TEST_F(Folder, KeepsTheRecordAndSaysWhatIsMissing) {
  EXPECT_THAT(ErrorOf(ReadRecord(directory_).status()),
              AllOf(HasSubstr(directory_), HasSubstr("no comparison began here")));
  ASSERT_TRUE(WriteRecord(directory_, Record()).ok());
  const auto record = ReadRecord(directory_);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(PrintRecord(*record), PrintRecord(Record()));
}

TEST_F(Folder, IsForOneAtATime) {
  ASSERT_TRUE(WriteRecord(directory_, Record()).ok());
  {
    const auto lock = FolderLock::Take(directory_);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_THAT(ErrorOf(FolderLock::Take(directory_).status()), HasSubstr("another compare"));
  }
  EXPECT_TRUE(FolderLock::Take(directory_).ok());
}

TEST_F(Folder, TidyKeepsEveryLineSomewhere) {
  const std::vector<PlannedRun> runs = Runs();
  RunResult failed = ResultOf(runs[1]);
  failed.failure = "lost";
  const std::string first = ToJsonLine(ResultOf(runs[0])) + "\n";
  const std::string second = ToJsonLine(failed) + "\n";
  ASSERT_TRUE(os::WriteFile(directory_ + "/results.jsonl", first + second + "{\"cut").ok());
  const auto state = ReadFolder(directory_, runs, {});
  ASSERT_TRUE(state.ok()) << state.status();
  ASSERT_TRUE(TidyFolder(directory_, *state).ok());
  EXPECT_EQ(Read("results.jsonl"), first);
  EXPECT_EQ(Read("replaced.jsonl"), second + "{\"cut\n");
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/tuning.jsonl"));
  const auto again = ReadFolder(directory_, runs, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->removed, "");
}

TEST_F(Folder, MovesEarlierTriesAside) {
  const std::string run = directory_ + "/001-ps_sync-mlp-r1";
  EXPECT_TRUE(MoveAside(run).ok());
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(os::MakeDirectory(run).ok());
    ASSERT_TRUE(MoveAside(run).ok());
    EXPECT_FALSE(std::filesystem::exists(run));
    EXPECT_TRUE(std::filesystem::exists(absl::StrCat(run, ".old-", i)));
  }
}

TEST_F(Folder, ProgramsAreKnownByTheirBytes) {
  ASSERT_TRUE(os::WriteFile(directory_ + "/a", "one").ok());
  ASSERT_TRUE(os::WriteFile(directory_ + "/b", "two").ok());
  const auto programs = FingerprintPrograms(
      {{"a", directory_ + "/a"}, {"again", directory_ + "/a"}, {"b", directory_ + "/b"}});
  ASSERT_TRUE(programs.ok()) << programs.status();
  EXPECT_EQ(programs->at("a"), programs->at("again"));
  EXPECT_NE(programs->at("a"), programs->at("b"));
  EXPECT_FALSE(FingerprintPrograms({{"c", directory_ + "/c"}}).ok());
}

}  // namespace
}  // namespace crossover::experiments
