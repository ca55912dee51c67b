#include "core/elastic_averaging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace crossover {
namespace {

using ::testing::ElementsAre;

TEST(ElasticAveraging, BothMoveByTheSamePartOfTheirDistance) {
  std::vector<float> centre = {0, 10};
  std::vector<float> worker = {8, 2};
  MoveCentre(0.25, centre, worker);
  EXPECT_THAT(centre, ElementsAre(2, 8));
  MoveWorker(0.25, worker, centre);
  EXPECT_THAT(worker, ElementsAre(6, 4));
}

TEST(ElasticAveraging, TheSumOfWorkerAndCentreStays) {
  for (const double alpha : {0.01, 0.225, 0.5, 0.9}) {
    std::vector<float> centre = {3};
    std::vector<float> worker = {-5};
    MoveCentre(alpha, centre, worker);
    MoveWorker(alpha, worker, centre);
    EXPECT_NEAR(centre[0] + worker[0], -2, 1e-5) << alpha;
    EXPECT_NEAR(worker[0], -5 + 8 * alpha, 1e-5) << alpha;
  }
}

TEST(ElasticAveraging, TheDefaultRateSharesNineTenthsAmongTheWorkers) {
  proto::Job job;
  job.set_workers(4);
  EXPECT_DOUBLE_EQ(ElasticRate(job), 0.225);
  job.mutable_ps()->set_elastic_rate(0.1);
  EXPECT_DOUBLE_EQ(ElasticRate(job), 0.1);
}

TEST(ElasticAveraging, ExchangesAfterEveryHthStep) {
  std::vector<int64_t> exchanges;
  for (int64_t step = 0; step < 10; ++step) {
    if (ExchangesAfter(3, step)) exchanges.push_back(step);
  }
  EXPECT_THAT(exchanges, ElementsAre(2, 5, 8));
  EXPECT_TRUE(ExchangesAfter(1, 0));
}

}  // namespace
}  // namespace crossover
