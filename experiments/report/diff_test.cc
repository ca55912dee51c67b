#include "experiments/report/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The fixture's runs, each with a job that can be read and a seed of its repetition.
DiffSide Side(const std::string& name, int repetitions) {
  DiffSide side{name, MadeUpComparison(repetitions)};
  for (RunResult& run : side.results) {
    proto::Job job = *ParseJob(run.resolved_job, "fixture");
    job.set_seed(1 + static_cast<uint64_t>(run.repetition));
    run.resolved_job = PrintJob(WithDefaults(job));
  }
  return side;
}

void Slow(DiffSide& side, const std::string& strategy, double factor) {
  for (RunResult& run : side.results) {
    if (run.strategy != strategy) continue;
    run.samples_per_second /= factor;
    run.step_ms_median *= factor;
  }
}

void EditJobs(DiffSide& side, const std::function<void(proto::Job&)>& edit) {
  for (RunResult& run : side.results) {
    proto::Job job = *ParseJob(run.resolved_job, "edited");
    edit(job);
    run.resolved_job = PrintJob(job);
  }
}

std::vector<std::string> Marked(const Diff& diff) {
  std::vector<std::string> marked;
  for (const DiffStudy& study : diff.studies) {
    for (const DiffRow& row : study.rows) {
      if (row.exceeds_noise) {
        marked.push_back(absl::StrCat(row.strategy, " ", DiffMetrics()[row.metric].name));
      }
    }
  }
  return marked;
}

class DiffTest : public testing::TestWithParam<int> {};

TEST_P(DiffTest, IdenticalFoldersDoNotDiffer) {
  const Diff diff = MakeDiff(Side("a", GetParam()), Side("b", GetParam()));
  EXPECT_THAT(diff.environment, IsEmpty());
  EXPECT_THAT(diff.notes, IsEmpty());
  ASSERT_EQ(diff.studies.size(), 1u);
  EXPECT_THAT(diff.studies[0].job, IsEmpty());
  EXPECT_THAT(diff.studies[0].notes, IsEmpty());
  EXPECT_FALSE(diff.studies[0].rows.empty());
  EXPECT_THAT(Marked(diff), IsEmpty());
  EXPECT_THAT(DiffText(diff), HasSubstr("No figure differs beyond noise."));
}

TEST_P(DiffTest, FindsAStrategyThatIsAFifthSlower) {
  DiffSide slower = Side("b", GetParam());
  Slow(slower, "allreduce_ring", 1.25);
  const Diff diff = MakeDiff(Side("a", GetParam()), slower);
  EXPECT_THAT(Marked(diff),
              ElementsAre("allreduce_ring samples/s", "allreduce_ring step median ms"));
  EXPECT_THAT(DiffText(diff), AllOf(HasSubstr("* 20.0% lower"), HasSubstr("* 25.0% higher"),
                                    HasSubstr("2 of 40 figures differ beyond noise")));
}

INSTANTIATE_TEST_SUITE_P(Repetitions, DiffTest, testing::Values(2, 3, 6));

TEST(DiffIntervalTest, SaysRangeForFewRepetitionsAndIntervalForSix) {
  const std::string few = DiffText(MakeDiff(Side("a", 3), Side("b", 3)));
  EXPECT_THAT(few, AllOf(HasSubstr("ranges, not confidence intervals"), HasSubstr("about 10%")));
  const std::string six = DiffText(MakeDiff(Side("a", 6), Side("b", 6)));
  EXPECT_THAT(six, AllOf(HasSubstr("bootstrap 95% intervals"), HasSubstr("seed 1")));
  const std::string mixed = DiffText(MakeDiff(Side("a", 6), Side("b", 3)));
  EXPECT_THAT(mixed, HasSubstr("ranges, not confidence intervals"));
}

TEST(DiffIntervalTest, OneRepetitionDecidesNothing) {
  DiffSide slower = Side("b", 1);
  Slow(slower, "single", 3);
  const Diff diff = MakeDiff(Side("a", 1), slower);
  EXPECT_THAT(Marked(diff), IsEmpty());
  EXPECT_THAT(DiffText(diff), AllOf(HasSubstr("too few to tell"), HasSubstr("One repetition")));
}

TEST(DiffIntervalTest, TimesThatOverlapAreNoiseEvenIfEachPairAgrees) {
  DiffSide a = Side("a", 3), b = Side("b", 3);
  const auto set = [](DiffSide& side, std::vector<double> values) {
    for (RunResult& run : side.results) {
      if (run.strategy == "single") run.samples_per_second = values[run.repetition];
    }
  };
  set(a, {100, 110, 120});
  set(b, {101, 111, 121});
  EXPECT_THAT(Marked(MakeDiff(a, b)), IsEmpty());
}

TEST(DiffIntervalTest, AccuraciesOfOneSeedArePairs) {
  DiffSide a = Side("a", 3), b = Side("b", 3);
  for (DiffSide* side : {&a, &b}) {
    for (RunResult& run : side->results) {
      if (run.strategy != "single") continue;
      run.test_accuracy = 0.8 + 0.01 * run.repetition + (side == &b ? 0.002 : 0);
    }
  }
  EXPECT_THAT(Marked(MakeDiff(a, b)), ElementsAre("single test accuracy"));
  EditJobs(b, [](proto::Job& job) { job.set_seed(job.seed() + 100); });
  const Diff unpaired = MakeDiff(a, b);
  EXPECT_THAT(Marked(unpaired), IsEmpty());
  EXPECT_THAT(DiffText(unpaired),
              AllOf(HasSubstr("seed: 1 in A, 101 in B"), HasSubstr("not paired")));
}

TEST(DiffContextTest, DifferencesOfEnvironmentAndJobComeFirst) {
  DiffSide b = Side("after", 2);
  for (RunResult& run : b.results) {
    run.environment.git_commit = "fedcba";
    run.environment.git_dirty = false;
    run.environment.versions["gRPC"] = "1.52.0";
    run.network.shaping = "1gbit";
  }
  EditJobs(b, [](proto::Job& job) {
    job.set_global_batch(1024);
    if (job.strategy() == proto::Strategy::ps_async) job.mutable_learning_rate()->set_base(0.05);
  });
  const Diff diff = MakeDiff(Side("before", 2), b);
  EXPECT_THAT(diff.environment,
              ElementsAre("commit: c3255eb0f7f3 with local changes in A, fedcba in B",
                          "gRPC: 1.51.1 in A, 1.52.0 in B",
                          "network: loopback, unshaped in A, loopback, 1gbit in B"));
  EXPECT_THAT(diff.studies[0].job,
              ElementsAre("global_batch: 512 in A, 1024 in B",
                          "learning_rate.base: 0.2 in A, 0.05 in B (ps_async)"));
  for (const std::string& text : {DiffText(diff), DiffMarkdown(diff)}) {
    const size_t commit = text.find("fedcba"), field = text.find("512 in A");
    const size_t figures = text.find("allreduce");
    ASSERT_NE(commit, std::string::npos);
    ASSERT_NE(field, std::string::npos);
    EXPECT_LT(commit, field);
    EXPECT_LT(field, text.find("samples/s"));
    EXPECT_NE(figures, std::string::npos);
  }
}

TEST(DiffContextTest, TheSameRunsTwiceAreSaidToBeThat) {
  const Diff same = MakeDiff(Side("a", 2), Side("a", 2));
  DiffSide later = Side("b", 2);
  later.results[1].start_time = "2026-03-02T12:00:00Z";
  const Diff other = MakeDiff(Side("a", 2), later);
  for (const auto& text_of : {DiffText, DiffMarkdown}) {
    EXPECT_THAT(text_of(same),
                AllOf(HasSubstr("A and B hold the same runs"), Not(HasSubstr("different times"))));
    EXPECT_THAT(text_of(other), AllOf(HasSubstr("A and B were measured at different times"),
                                      Not(HasSubstr("the same runs"))));
  }
}

TEST(DiffContextTest, SaysWhatOneSideLacks) {
  DiffSide a = Side("a", 2), b = Side("b", 2);
  std::erase_if(a.results, [](const RunResult& run) { return run.strategy == "local_sgd"; });
  std::erase_if(b.results, [](const RunResult& run) { return run.strategy == "ps_ssp"; });
  for (RunResult& run : b.results) {
    if (run.strategy == "ps_sync" && run.repetition == 0) run.failure = "lost";
    if (run.strategy == "single") run.time_to_target_s.reset();
  }
  const std::string text = DiffText(MakeDiff(a, b));
  EXPECT_THAT(text, HasSubstr("only A ran ps_ssp"));
  EXPECT_THAT(text, HasSubstr("only B ran local_sgd"));
  EXPECT_THAT(text, HasSubstr("B: 1 of 2 runs of ps_sync failed"));
  EXPECT_THAT(text, HasSubstr("only A has it"));
}

TEST(DiffContextTest, JobsWithoutAPartnerAreNamedAndOthersPairedByModel) {
  DiffSide a = Side("a", 2), b = Side("b", 2);
  for (RunResult& run : b.results) run.job_name = "renamed";
  EXPECT_EQ(MakeDiff(a, b).studies[0].title, "fashion-mlp (mlp) and renamed (mlp)");
  for (RunResult& run : b.results) run.model = "lenet";
  const Diff diff = MakeDiff(a, b);
  EXPECT_THAT(diff.studies, IsEmpty());
  EXPECT_THAT(diff.notes,
              ElementsAre("only A has fashion-mlp (mlp)", "only B has renamed (lenet)"));
}

TEST(DiffTextTest, KeepsTo100ColumnsAndNeutralisesTexts) {
  DiffSide b = Side("b\x1b[2J", 3);
  Slow(b, "single", 1.5);
  for (RunResult& run : b.results) run.environment.hostname = "x\x1b[2J<b>|";
  const Diff diff = MakeDiff(Side("a", 3), b);
  const std::string text = DiffText(diff);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(end - at, 110u) << text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_THAT(DiffMarkdown(diff), Not(HasSubstr("<b>")));
}

}  // namespace
}  // namespace crossover::experiments
