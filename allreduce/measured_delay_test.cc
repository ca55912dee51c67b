#include "allreduce/measured_delay.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "net/inproc_endpoint.h"

namespace crossover::allreduce {
namespace {

// Of a rank for which every barrier takes `barrier_us`, the first ones more.
class BarrierClock final : public Clock {
 public:
  BarrierClock(int64_t barrier_us, int slow) : step_ns_(barrier_us * 1000), looks_left_(2 * slow) {}
  int64_t NowNs() const override { return now_ns_ += looks_left_-- > 0 ? 1'000'000 : step_ns_; }
  void SleepNs(int64_t) override {}

 private:
  const int64_t step_ns_;
  mutable int looks_left_;
  mutable int64_t now_ns_ = 0;
};

// Each rank's alpha, with barriers that take it so long, but the first `slow` 1 ms.
std::vector<double> AlphasUs(const std::vector<int64_t>& barrier_us, int slow = 0) {
  const int ranks = static_cast<int>(barrier_us.size());
  const SystemClock clock;
  const std::vector<std::unique_ptr<net::Endpoint>> endpoints =
      net::MakeInprocEndpoints(ranks, clock);
  std::vector<double> alphas_us(ranks, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Communicator communicator(*endpoints[rank], Communicator::Options{}, clock);
      const BarrierClock barriers(barrier_us[rank], slow);
      const absl::StatusOr<CostFit> fit =
          WithMeasuredDelay(communicator, DefaultFitOfTcp(), barriers);
      if (fit.ok()) alphas_us[rank] = fit->alpha_us;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return alphas_us;
}

TEST(MeasuredDelay, IsThatOfTheSlowestRankForAll) {
  // Four ranks meet in two steps.
  EXPECT_EQ(AlphasUs({1100, 1000, 1300, 1200}), std::vector<double>(4, 650));
  EXPECT_EQ(AlphasUs({220, 100}), std::vector<double>(2, 220));
}

TEST(MeasuredDelay, WhatMayBeTheProcessorsIsNotTaken) {
  const double alpha_us = DefaultFitOfTcp().alpha_us;
  EXPECT_EQ(AlphasUs({398, 40, 390, 2}), std::vector<double>(4, alpha_us));
  EXPECT_EQ(AlphasUs({5000}), std::vector<double>(1, alpha_us));
}

TEST(MeasuredDelay, AMachineThatIsBusyForAWhileHasNoDelay) {
  EXPECT_EQ(AlphasUs({20, 20}, 30), std::vector<double>(2, DefaultFitOfTcp().alpha_us));
  EXPECT_EQ(AlphasUs({1300, 1300, 1300, 1300}, 30), std::vector<double>(4, 500));
}

TEST(MeasuredDelay, DecidesForFewSteps) {
  CostFit fit = DefaultFitOfTcp();
  fit.alpha_us = AlphasUs({1100, 1000, 1300, 1200})[0];
  const Place place = {.rank = 0, .world_size = 4};
  EXPECT_EQ(Choose(Kind::kAllReduce, 4096, place, fit), Algorithm::kExchange);
}

}  // namespace
}  // namespace crossover::allreduce
