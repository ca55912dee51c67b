#include "experiments/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace crossover::experiments {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(FormatDuration, ChoosesItsUnits) {
  EXPECT_EQ(FormatDuration(-3), "0 s");
  EXPECT_EQ(FormatDuration(48.4), "48 s");
  EXPECT_EQ(FormatDuration(125), "2 min 05 s");
  EXPECT_EQ(FormatDuration(3700), "1 h 01 min");
}

TEST(FormatProgress, SaysStrategyStepRateLossAndTimeLeft) {
  EXPECT_EQ(FormatProgress({.run = 3,
                            .runs = 18,
                            .strategy = "ps_sync",
                            .model = "mlp",
                            .label = "r1",
                            .phase = "train",
                            .step = 412,
                            .total_steps = 708,
                            .samples_per_second = 31204,
                            .loss = 0.4123,
                            .left_s = 125}),
            "run 3/18  ps_sync mlp r1  step 412/708  31204 samples/s  loss 0.412  about 2 min 05 s "
            "left");
}

TEST(FormatProgress, BeforeTrainingSaysThePhase) {
  EXPECT_EQ(FormatProgress({.run = 1,
                            .runs = 2,
                            .strategy = "single",
                            .model = "mlp",
                            .label = "r1",
                            .phase = "load"}),
            "run 1/2  single mlp r1  load");
}

class PrinterTest : public testing::Test {
 protected:
  PrinterTest() : out_(open_memstream(&text_, &size_)) {
    run_.job.set_strategy(proto::Strategy::ps_sync);
    run_.label = "r1";
  }
  ~PrinterTest() override {
    std::fclose(out_);
    std::free(text_);
  }
  std::string Printed() {
    std::fflush(out_);
    return std::string(text_, size_);
  }
  net::MemberState Worker(int rank, int64_t step, int64_t samples) {
    return {.role = net::Role::kWorker,
            .rank = rank,
            .joined = true,
            .address = "",
            .step = step,
            .phase = "train",
            .samples = samples,
            .loss = 0.5};
  }

  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* out_;
  ManualClock clock_;
  PlannedRun run_;
};

TEST_F(PrinterTest, ElsewhereThanOnATerminalIsQuietAndLineBased) {
  ProgressPrinter printer(out_, /*terminal=*/false, clock_);
  printer.StartRun(run_, 2, 100);
  printer.Update({Worker(0, 10, 100)});
  clock_.Advance(5'000'000'000);
  RunResult result;
  result.samples_per_second = 1234;
  result.communication_share = 0.25;
  result.test_accuracy = 0.8812;
  printer.EndRun(result);
  EXPECT_EQ(Printed(),
            "run 1/2: ps_sync mlp r1\n"
            "run 1/2: ps_sync mlp r1: 1234 samples/s, 25% communication, accuracy 88.12%, 5 s\n");
}

TEST_F(PrinterTest, OnATerminalShowsTheSlowestWorkerAndTheRateOfAll) {
  ProgressPrinter printer(out_, /*terminal=*/true, clock_);
  printer.StartRun(run_, 2, 100);
  clock_.Advance(1'000'000'000);
  printer.Update({Worker(0, 10, 100), Worker(1, 9, 90)});
  clock_.Advance(2'000'000'000);
  printer.Update({Worker(0, 30, 300), Worker(1, 19, 190)});
  EXPECT_THAT(Printed(), HasSubstr("\r\033[Krun 1/2  ps_sync mlp r1  step 20/100  150 samples/s"));
}

TEST_F(PrinterTest, TimeLeftCountsTheRunsToCome) {
  ProgressPrinter printer(out_, /*terminal=*/true, clock_);
  printer.StartRun(run_, 3, 100);
  EXPECT_THAT(Printed(), Not(HasSubstr("left")));
  clock_.Advance(10'000'000'000);
  printer.EndRun(RunResult{});
  run_.index = 1;
  printer.StartRun(run_, 3, 100);
  EXPECT_THAT(Printed(), HasSubstr("about 20 s left"));
}

TEST_F(PrinterTest, AFailedRunIsNamed) {
  ProgressPrinter printer(out_, /*terminal=*/false, clock_);
  printer.StartRun(run_, 1, 100);
  RunResult result;
  result.failure = "worker 1 was lost";
  printer.EndRun(result);
  EXPECT_THAT(Printed(), HasSubstr("run 1/1: ps_sync mlp r1: FAILED\n"));
}

}  // namespace
}  // namespace crossover::experiments
