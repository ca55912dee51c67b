#include "experiments/report/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Verdict VerdictOf(const std::vector<RunResult>& results) {
  const std::vector<Study> studies = GroupResults(results);
  EXPECT_EQ(studies.size(), 1u);
  return MakeVerdict(studies[0]);
}

// Runs of a strategy with these throughputs, one repetition each.
std::vector<RunResult> Runs(const std::string& strategy, const std::vector<double>& throughputs,
                            double accuracy = .88) {
  std::vector<RunResult> runs;
  for (size_t i = 0; i < throughputs.size(); ++i) {
    runs.push_back(MadeUpRun(strategy, strategy.substr(0, 2) == "ps" ? 2 : 0,
                             static_cast<int64_t>(i), throughputs[i], accuracy));
  }
  return runs;
}

std::vector<RunResult> Together(std::vector<std::vector<RunResult>> parts) {
  std::vector<RunResult> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(VerdictTest, AWinner) {
  const Verdict v =
      VerdictOf(Together({Runs("single", {90, 91, 92}), Runs("ps_sync", {100, 110, 120}),
                          Runs("allreduce_ring", {150, 160, 170})}));
  EXPECT_THAT(v.sentences[0],
              StartsWith("allreduce_ring had the highest throughput of those that synchronise: 160 "
                         "(150 to 170) samples/s. "
                         "Its median is 1.76 times that of single (one process, 91.0 (90.0 to "
                         "92.0) samples/s)."));
  EXPECT_THAT(v.sentences[1],
              HasSubstr("allreduce_ring had the shortest training time to 87.00% test accuracy"));
  EXPECT_THAT(v.failures, IsEmpty());
}

TEST(VerdictTest, ATieNamesWhoTies) {
  const Verdict v =
      VerdictOf(Together({Runs("ps_sync", {100, 110, 120}), Runs("allreduce_ring", {101, 109, 121}),
                          Runs("local_sgd", {50, 55, 60})}));
  EXPECT_THAT(v.sentences[0], StartsWith("The highest throughput of those that synchronise is a "
                                         "tie of ps_sync and allreduce_ring; ps_sync "
                                         "has the best median: 110 (100 to 120) samples/s."));
}

TEST(VerdictTest, OverlappingRangesWithAClearPairedDifferenceAreNoTie) {
  const Verdict v = VerdictOf(
      Together({Runs("ps_sync", {100, 120, 140}), Runs("allreduce_ring", {105, 126, 147})}));
  EXPECT_THAT(v.sentences[0],
              StartsWith("allreduce_ring had the highest throughput of those that synchronise"));
}

TEST(VerdictTest, OneRepetitionDecidesNothing) {
  const Verdict v = VerdictOf(
      Together({Runs("single", {90}), Runs("ps_sync", {100}), Runs("allreduce_ring", {150})}));
  EXPECT_THAT(v.sentences[0],
              StartsWith("In too few common repetitions to tell a difference from chance, "
                         "allreduce_ring measured the highest throughput of those that "
                         "synchronise: 150 samples/s."));
  EXPECT_THAT(v.sentences[0], HasSubstr("too few repetitions to tell them apart"));
  EXPECT_THAT(v.caveats, Contains(HasSubstr("only one repetition")));
}

TEST(VerdictTest, SlowerThanOneProcessSaysSo) {
  const Verdict v = VerdictOf(Together({Runs("single", {200, 210}), Runs("ps_sync", {100, 110})}));
  EXPECT_THAT(v.sentences[0], StartsWith("Only ps_sync synchronises: "));
  EXPECT_THAT(v.sentences[0], HasSubstr("No strategy was faster than one process here"));
}

TEST(VerdictTest, CheaperIsNotAlwaysSooner) {
  // The servers' strategy is a little sooner, but uses six processes against four.
  const Verdict v =
      VerdictOf(Together({Runs("ps_sync", {110, 110}), Runs("allreduce_ring", {100, 100})}));
  EXPECT_THAT(v.sentences[1], StartsWith("ps_sync had the shortest training time"));
  EXPECT_THAT(v.sentences[1], HasSubstr("allreduce_ring had the lowest cost to it"));
}

TEST(VerdictTest, TheTargetNotReached) {
  const Verdict none = VerdictOf(Runs("ps_async", {100, 110}, .6));
  EXPECT_EQ(none.sentences[1], "No run reached 87.00% test accuracy.");
  std::vector<RunResult> mixed =
      Together({Runs("ps_async", {100, 110}, .6), Runs("ps_sync", {100, 110})});
  EXPECT_THAT(VerdictOf(mixed).sentences[1], HasSubstr("It was not reached by ps_async."));
  mixed[2].time_to_target_s.reset();
  EXPECT_EQ(VerdictOf(mixed).sentences[1],
            "87.00% test accuracy was reached in only some repetitions by ps_sync (1 of 2). It "
            "was not reached by ps_async.");
}

TEST(VerdictTest, WhereNothingWasEvaluatedNoTargetIsSpokenOf) {
  std::vector<RunResult> results = Runs("ps_sync", {100, 110}, .6);
  for (RunResult& result : results) result.test_accuracy.reset();
  EXPECT_THAT(VerdictOf(results).sentences, Not(Contains(HasSubstr("test accuracy"))));
}

TEST(VerdictTest, AccuracyAgainstTheReference) {
  std::vector<RunResult> results =
      Together({Runs("single", {90, 91}, .88), Runs("ps_async", {100, 110}, .86),
                Runs("ps_sync", {100, 110}, .88)});
  EXPECT_EQ(VerdictOf(results).sentences[2],
            "Test accuracy of single at the end: 88.00%. Less accurate: "
            "ps_async (2.00 points). Not told apart from it: ps_sync.");
  for (RunResult& run : results) run.test_accuracy.reset();
  EXPECT_EQ(VerdictOf(results).sentences.size(), 1u);  // of throughput
}

TEST(VerdictTest, FailedRunsAreNamed) {
  std::vector<RunResult> results =
      Together({Runs("ps_sync", {100, 110}), Runs("local_sgd", {100, 110})});
  results[3].failure = "worker 1 was lost at step 7";
  EXPECT_THAT(VerdictOf(results).failures,
              ElementsAre("local_sgd, repetition 2, failed: worker 1 was lost at step 7"));
  for (RunResult& run : results) run.failure = "no port";
  const Verdict all = VerdictOf(results);
  EXPECT_EQ(all.failures.size(), 4u);
  EXPECT_THAT(all.sentences, ElementsAre("No run succeeded: there are no figures."));
}

TEST(VerdictTest, CaveatsFollowTheConditions) {
  std::vector<RunResult> results = Together(
      {Runs("single", {90, 91}), Runs("ps_sync", {100, 110}), Runs("allreduce_ring", {100, 110})});
  EXPECT_THAT(
      VerdictOf(results).caveats,
      ElementsAre(
          "These figures measure this machine, not a cluster: up to 6 processes shared 2 cores "
          "and messages went over an unshaped loopback. No verdict on clusters follows.",
          HasSubstr("figures in brackets are ranges"), HasSubstr("ps_sync 6 and allreduce_ring 4"),
          HasSubstr("computes the same 4 shards one after another")));
  for (RunResult& run : results) {
    run.environment.cores = 6;
    run.network.shaping = "1 Gbit/s";
  }
  EXPECT_THAT(VerdictOf(results).caveats, Not(Contains(HasSubstr("not a cluster"))));
  for (RunResult& run : results) {
    run.environment.cores = 2;
    run.network.kind = "lab: kernel qdiscs";
  }
  EXPECT_THAT(VerdictOf(results).caveats, Contains(HasSubstr("up to 6 processes shared 2 cores")));
  for (RunResult& run : results) run.nodes = run.strategy == "ps_sync" ? 5 : 3;
  EXPECT_THAT(VerdictOf(results).caveats,
              Contains(HasSubstr("Machines, servers included: ps_sync 5 and allreduce_ring 3.")));
  for (RunResult& run : results) run.model = "emulated";  // waits, and takes no core
  EXPECT_THAT(VerdictOf(results).caveats, Not(Contains(HasSubstr("not a cluster"))));
  results[2].notes = results[3].notes = {"a note"};
  EXPECT_THAT(VerdictOf(results).caveats, Contains("ps_sync: a note."));
}

TEST(VerdictTest, SixRepetitionsAreIntervals) {
  EXPECT_THAT(VerdictOf(MadeUpComparison(6)).caveats, Not(Contains(HasSubstr("ranges"))));
}

TEST(VerdictTest, OnlyTheBaseline) {
  EXPECT_EQ(VerdictOf(Runs("single", {100, 110})).sentences[0],
            "Only single ran: 105 (100 to 110) samples/s. There is nothing to compare it with.");
}

TEST(VerdictTest, OneStrategyHasFiguresAndNoRank) {
  const Verdict one = VerdictOf(Runs("ps_sync", {100}));
  EXPECT_EQ(one.sentences[0],
            "Only ps_sync ran: 100 samples/s. There is nothing to compare it with.");
  EXPECT_THAT(one.sentences[1],
              AllOf(StartsWith("ps_sync reached 87.00% test accuracy after "),
                    HasSubstr(" s of training, for "), Not(HasSubstr("shortest"))));
  const Verdict beside =
      VerdictOf(Together({Runs("single", {90, 91}), Runs("ps_sync", {100, 110})}));
  EXPECT_THAT(beside.sentences[0],
              StartsWith("Only ps_sync synchronises: 105 (100 to 110) samples/s. Its median is "));
  std::vector<RunResult> failed = Together({Runs("ps_sync", {100}), Runs("ps_async", {100})});
  failed[1].failure = "lost";
  EXPECT_THAT(VerdictOf(failed).sentences[0], StartsWith("Only ps_sync has finished runs: 100 "));
}

TEST(VerdictTest, AnAccuracyOnTheWayIsSaidToBeThat) {
  const auto caveat = HasSubstr("Ended short of the target accuracy: ps_async (");
  std::vector<RunResult> runs =
      Together({Runs("ps_sync", {100, 110}), Runs("ps_async", {100, 110}, .6)});
  EXPECT_THAT(VerdictOf(runs).caveats, Contains(caveat));
  for (RunResult& run : runs) run.test_accuracy.reset();  // emulated
  EXPECT_THAT(VerdictOf(runs).caveats, Not(Contains(caveat)));
  EXPECT_THAT(VerdictOf(Runs("ps_async", {100, 110})).caveats, Not(Contains(caveat)));
}

TEST(GroupResultsTest, JobsAreKeptApart) {
  std::vector<RunResult> results = MadeUpComparison(2);
  results[3].model = "lenet";
  const std::vector<Study> studies = GroupResults(results);
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[0].title(), "fashion-mlp (mlp)");
  EXPECT_EQ(studies[1].strategies.size(), 1u);
  EXPECT_TRUE(GroupResults({}).empty());
}

TEST(TypicalRunTest, IsTheLowerMedian) {
  const std::vector<RunResult> runs = Runs("ps_sync", {100, 400, 200, 300});
  const std::vector<Study> studies = GroupResults(runs);
  EXPECT_EQ(TypicalRun(studies[0].strategies[0])->samples_per_second, 200);
}

}  // namespace
}  // namespace crossover::experiments
