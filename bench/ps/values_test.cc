#include "bench/ps/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace crossover::bench {
namespace {

constexpr size_t kLength = 1000;

// What servers make of so many steps; worker `twice` is counted in place of worker `missing`.
std::vector<float> Served(int workers, int steps, int missing = -1, int twice = -1) {
  std::vector<float> parameters(kLength);
  FillFirstParameters(parameters);
  std::vector<float> gradient(kLength);
  for (int step = 0; step < steps; ++step) {
    std::vector<float> sum(kLength);
    for (int worker = 0; worker < workers; ++worker) {
      FillPush(worker == missing ? twice : worker, workers, step % 2 == 1, gradient);
      for (size_t i = 0; i < kLength; ++i) sum[i] += gradient[i];
    }
    for (size_t i = 0; i < kLength; ++i) {
      parameters[i] -= sum[i] / static_cast<float>(workers);
    }
  }
  return parameters;
}

TEST(Values, AreExactForAnyNumberOfWorkersAndSteps) {
  for (const int workers : {1, 2, 3, 7, 64}) {
    for (const int steps : {0, 1, 2, 5}) {
      EXPECT_EQ(CountWrong(steps, 1, Served(workers, steps)), 0) << workers << ", " << steps;
    }
  }
}

TEST(Values, EveryElementTellsAStepFromTheNext) {
  EXPECT_EQ(CountWrong(1, 1, Served(3, 2)), kLength);
  EXPECT_EQ(CountWrong(2, 1, Served(3, 1)), kLength);
}

TEST(Values, AContributionInPlaceOfAnotherIsFoundInEveryElement) {
  EXPECT_EQ(CountWrong(1, 1, Served(4, 1, 2, 1)), kLength);
  // Also once the steps after it were right.
  std::vector<float> parameters = Served(4, 1, 0, 3);
  EXPECT_EQ(CountWrong(1, 1, parameters), kLength);
}

// As servers that wait for nobody do, in some order.
TEST(Values, PushesOneByOneMoveAsFarAsTheirSum) {
  for (const int workers : {2, 3, 64}) {
    std::vector<float> parameters(kLength);
    FillFirstParameters(parameters);
    std::vector<float> gradient(kLength);
    for (const bool odd_step : {false, true, false}) {
      for (int worker = workers - 1; worker >= 0; --worker) {
        FillPush(worker, workers, odd_step, gradient);
        for (size_t i = 0; i < kLength; ++i) parameters[i] -= gradient[i];
      }
    }
    EXPECT_EQ(CountWrong(3, workers, parameters), 0);
    EXPECT_EQ(CountWrong(3, 1, parameters), kLength);
    EXPECT_EQ(CountWrong(2, workers, parameters), kLength);
  }
}

TEST(Values, WhatIsNotANumberOrElsewhereIsWrong) {
  std::vector<float> parameters = Served(2, 1);
  parameters[3] = std::numeric_limits<float>::quiet_NaN();
  std::swap(parameters[10], parameters[12]);
  EXPECT_EQ(CountWrong(1, 1, parameters), 3);
}

TEST(Values, FitIntoEveryWireFormat) {
  std::vector<float> gradient(kLength);
  for (const int worker : {0, 63}) {
    FillPush(worker, 64, false, gradient);
    for (const float value : gradient) {
      EXPECT_EQ(value, std::trunc(value));
      EXPECT_LE(std::abs(value), 256);  // up to here bf16 has every whole number
    }
  }
}

}  // namespace
}  // namespace crossover::bench
