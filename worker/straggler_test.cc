#include "worker/straggler.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace crossover::worker {
namespace {

proto::Job JobWith(int rank, double factor, int64_t burst_steps = 0, double share = 0.2) {
  proto::Job job;
  job.mutable_straggler()->set_rank(rank);
  job.mutable_straggler()->set_factor(factor);
  job.mutable_straggler()->set_burst_steps(burst_steps);
  job.mutable_straggler()->set_burst_share(share);
  return job;
}

std::vector<double> Factors(const proto::Job& job, int rank, int64_t steps) {
  StragglerSchedule schedule(job);
  std::vector<double> factors;
  for (int64_t step = 0; step < steps; ++step) factors.push_back(schedule.Factor(rank, step));
  return factors;
}

// Parts of the steps, and the mean length of an unbroken stretch of them.
struct Slow {
  double share = 0;
  double length = 0;
};
Slow SlowSteps(const std::vector<double>& factors) {
  int64_t slow = 0, stretches = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 1) continue;
    ++slow;
    if (i == 0 || factors[i - 1] == 1) ++stretches;
  }
  return {.share = static_cast<double>(slow) / static_cast<double>(factors.size()),
          .length = static_cast<double>(slow) / static_cast<double>(stretches)};
}

TEST(StragglerTest, NobodyIsSlowByDefault) {
  EXPECT_EQ(Factors(proto::Job(), 0, 3), std::vector<double>({1, 1, 1}));
}

TEST(StragglerTest, WithoutBurstsOneRankIsSlowForEver) {
  const proto::Job job = JobWith(2, 3);
  EXPECT_EQ(Factors(job, 2, 3), std::vector<double>({3, 3, 3}));
  EXPECT_EQ(Factors(job, 1, 3), std::vector<double>({1, 1, 1}));
}

TEST(StragglerTest, BurstsTakeTheirShareOfTheSteps) {
  for (const double share : {0.05, 0.2, 0.9}) {
    const Slow slow = SlowSteps(Factors(JobWith(1, 2, 20, share), 1, 400'000));
    // Some 4,000 bursts at the least share: a standard error of 3%.
    EXPECT_NEAR(slow.share, share, share * 0.1) << share;
  }
  // Between bursts of 20 lie 80 steps: few touch, so stretches are about as long.
  EXPECT_NEAR(SlowSteps(Factors(JobWith(1, 2, 20, 0.2), 1, 400'000)).length, 20, 1.5);
}

TEST(StragglerTest, BurstsOfOneStepAreSingleSteps) {
  const Slow slow = SlowSteps(Factors(JobWith(0, 2, 1, 0.5), 0, 100'000));
  EXPECT_NEAR(slow.share, 0.5, 0.02);
}

// Over many seeds the first step is as likely slow as any other.
TEST(StragglerTest, ShortTrainingsHaveTheShareToo) {
  int slow = 0;
  proto::Job job = JobWith(0, 2, 50, 0.3);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    job.set_seed(seed);
    for (const double factor : Factors(job, 0, 2)) slow += factor > 1 ? 1 : 0;
  }
  EXPECT_NEAR(slow / 8000.0, 0.3, 0.03);
}

TEST(StragglerTest, TheSeedAloneDecides) {
  proto::Job job = JobWith(0, 2, 5, 0.3);
  const std::vector<double> once = Factors(job, 0, 200);
  EXPECT_EQ(Factors(job, 0, 200), once);
  job.set_seed(2);
  EXPECT_NE(Factors(job, 0, 200), once);
}

TEST(StragglerTest, StepsMayBeAskedForInAnyOrder) {
  const proto::Job job = JobWith(0, 2, 5, 0.3);
  const std::vector<double> forward = Factors(job, 0, 200);
  StragglerSchedule schedule(job);
  for (int64_t step = 199; step >= 0; --step) {
    EXPECT_EQ(schedule.Factor(0, step), forward[step]) << step;
  }
  EXPECT_EQ(schedule.Factor(0, 150), forward[150]);
}

TEST(StragglerTest, OthersAreNeverSlowUnlessItWanders) {
  const proto::Job job = JobWith(0, 2, 5, 0.3);
  EXPECT_EQ(Factors(job, 1, 1000), std::vector<double>(1000, 1));
}

TEST(StragglerTest, WanderingCoversAllRanksOneAtATimeAndBeginsWithTheFirst) {
  proto::Job job = JobWith(3, 2, 5, 0.3);
  job.mutable_straggler()->set_wanders(true);
  job.set_workers(4);
  StragglerSchedule schedule(job);
  std::set<int> slowed;
  for (int64_t step = 0; step < 2000; ++step) {
    int slow = 0;
    for (int rank = 0; rank < 4; ++rank) {
      if (schedule.Factor(rank, step) == 1) continue;
      EXPECT_TRUE(!slowed.empty() || rank == 3) << rank;
      slowed.insert(rank);
      ++slow;
    }
    EXPECT_LE(slow, 1) << step;
  }
  EXPECT_EQ(slowed.size(), 4u);
}

}  // namespace
}  // namespace crossover::worker
