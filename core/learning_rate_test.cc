#include "core/learning_rate.h"

#include <cmath>

#include "gtest/gtest.h"

namespace crossover {
namespace {

proto::LearningRate Config(double base, proto::LearningRate::Decay decay) {
  proto::LearningRate config;
  config.set_base(base);
  config.set_decay(decay);
  config.set_warmup_steps(0);
  return config;
}

TEST(LearningRateTest, ConstantWithoutWarmup) {
  const LearningRateSchedule schedule(Config(0.3, proto::LearningRate::constant), 512, 10);
  for (const int64_t step : {0, 1, 9, 10, 1000}) EXPECT_EQ(schedule.At(step), 0.3);
  EXPECT_EQ(schedule.warmup_steps(), 0);
}

TEST(LearningRateTest, WarmsUpFromZeroThenStaysAtThePeak) {
  proto::LearningRate config = Config(0.4, proto::LearningRate::constant);
  config.set_warmup_steps(4);
  const LearningRateSchedule schedule(config, 512, 100);
  EXPECT_EQ(schedule.At(0), 0);
  EXPECT_DOUBLE_EQ(schedule.At(1), 0.1);
  EXPECT_DOUBLE_EQ(schedule.At(3), 0.3);
  EXPECT_EQ(schedule.At(4), 0.4);
  EXPECT_EQ(schedule.At(99), 0.4);
}

TEST(LearningRateTest, CosineFallsFromThePeakToZero) {
  proto::LearningRate config = Config(0.2, proto::LearningRate::cosine);
  config.set_warmup_steps(10);
  const LearningRateSchedule schedule(config, 512, 110);
  EXPECT_DOUBLE_EQ(schedule.At(5), 0.1);
  EXPECT_DOUBLE_EQ(schedule.At(10), 0.2);
  EXPECT_NEAR(schedule.At(35), 0.1 * (1 + std::sqrt(0.5)), 1e-15);  // a quarter of the way
  EXPECT_NEAR(schedule.At(60), 0.1, 1e-15);
  EXPECT_NEAR(schedule.At(85), 0.1 * (1 - std::sqrt(0.5)), 1e-15);
  EXPECT_GT(schedule.At(109), 0);
  EXPECT_EQ(schedule.At(110), 0);
  EXPECT_EQ(schedule.At(111), 0);
}

TEST(LearningRateTest, WarmupIsAFractionOfAllStepsUnlessCounted) {
  proto::LearningRate config;  // the default: a tenth
  EXPECT_EQ(LearningRateSchedule(config, 512, 708).warmup_steps(), 71);
  EXPECT_EQ(LearningRateSchedule(config, 512, 704).warmup_steps(), 70);
  EXPECT_EQ(LearningRateSchedule(config, 512, 4).warmup_steps(), 0);
  config.set_warmup_fraction(0.25);
  EXPECT_EQ(LearningRateSchedule(config, 512, 10).warmup_steps(), 3);  // 2.5, halves go up
  config.set_warmup_steps(0);
  EXPECT_EQ(LearningRateSchedule(config, 512, 10).warmup_steps(), 0);
  config.set_warmup_steps(7);
  EXPECT_EQ(LearningRateSchedule(config, 512, 10).warmup_steps(), 7);
}

TEST(LearningRateTest, ScalesWithTheGlobalBatch) {
  proto::LearningRate config = Config(0.1, proto::LearningRate::constant);
  config.set_reference_batch(256);
  EXPECT_EQ(LearningRateSchedule(config, 1024, 10).peak(), 0.1);
  config.set_scaling(proto::LearningRate::linear);
  EXPECT_DOUBLE_EQ(LearningRateSchedule(config, 1024, 10).peak(), 0.4);
  EXPECT_DOUBLE_EQ(LearningRateSchedule(config, 128, 10).peak(), 0.05);
  config.set_scaling(proto::LearningRate::sqrt);
  EXPECT_DOUBLE_EQ(LearningRateSchedule(config, 1024, 10).peak(), 0.2);
  EXPECT_DOUBLE_EQ(LearningRateSchedule(config, 256, 10).peak(), 0.1);
}

TEST(LearningRateTest, AWarmupAsLongAsTheTrainingNeverDecays) {
  proto::LearningRate config = Config(1, proto::LearningRate::cosine);
  config.set_warmup_steps(4);
  const LearningRateSchedule schedule(config, 512, 4);
  EXPECT_DOUBLE_EQ(schedule.At(3), 0.75);
  EXPECT_EQ(schedule.At(4), 0);  // past the end
}

TEST(LearningRateTest, OneStepTrainsAtThePeak) {
  const LearningRateSchedule schedule(proto::LearningRate(), 512, 1);
  EXPECT_DOUBLE_EQ(schedule.At(0), 0.2);
}

TEST(PushRateFactor, DividesOnlyWhereEachPushIsAnUpdate) {
  proto::Job job;
  job.set_workers(4);
  for (const auto strategy :
       {proto::Strategy::ps_ssp, proto::Strategy::ps_async, proto::Strategy::ps_async_dc}) {
    job.set_strategy(strategy);
    EXPECT_DOUBLE_EQ(PushRateFactor(job), 0.25);
  }
  job.set_strategy(proto::Strategy::ps_groups);  // of two
  EXPECT_DOUBLE_EQ(PushRateFactor(job), 0.5);
  job.mutable_ps()->set_push_rate(proto::ParameterServer::full);
  EXPECT_DOUBLE_EQ(PushRateFactor(job), 1);
  job.mutable_ps()->clear_push_rate();
  for (const auto strategy : {proto::Strategy::ps_sync, proto::Strategy::ps_backup,
                              proto::Strategy::ps_async_scaled, proto::Strategy::local_sgd}) {
    job.set_strategy(strategy);
    EXPECT_DOUBLE_EQ(PushRateFactor(job), 1);
  }
}

}  // namespace
}  // namespace crossover
