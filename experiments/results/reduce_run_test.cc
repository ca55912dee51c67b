#include "experiments/results/reduce_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "experiments/report/report_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

RunResult Reduced(const proto::Job& job, const std::vector<proto::ProcessReport>& reports) {
  const absl::StatusOr<RunResult> result = ReduceRun(job, reports, RunContext());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : RunResult();
}

std::string ErrorOf(const proto::Job& job, const std::vector<proto::ProcessReport>& reports) {
  return std::string(ReduceRun(job, reports, RunContext()).status().message());
}

TEST(ReduceRunTest, TwoRanksByHand) {
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), TwoRanks());
  EXPECT_EQ(r.strategy, "allreduce_ring");
  EXPECT_EQ(r.workers, 2);
  EXPECT_EQ(r.servers, 0);
  EXPECT_EQ(r.steps, 3);
  EXPECT_EQ(r.warmup_steps_left_out, 1);
  // 2 measured steps x 2 ranks x 64 samples in 200 ms.
  EXPECT_DOUBLE_EQ(r.samples_per_second, 1280);
  EXPECT_DOUBLE_EQ(r.step_ms_mean, 100);
  EXPECT_DOUBLE_EQ(r.compute_ms, 65);
  EXPECT_DOUBLE_EQ(r.communication_ms, 45);
  EXPECT_DOUBLE_EQ(r.hidden_ms, 20);
  EXPECT_DOUBLE_EQ(r.exposed_ms, 25);
  EXPECT_DOUBLE_EQ(r.communication_share, .25);
  EXPECT_DOUBLE_EQ(r.overlap, 20.0 / 45);
  // Rank 0 waits 40-50 and 70-80, rank 1 never.
  EXPECT_DOUBLE_EQ(r.wait_ms, 10);
  EXPECT_DOUBLE_EQ(r.transfer_ms, 35);
  EXPECT_DOUBLE_EQ(r.data_ms, 5);
  EXPECT_DOUBLE_EQ(r.apply_ms, 4);
  EXPECT_DOUBLE_EQ(r.other_ms, 1);
  EXPECT_DOUBLE_EQ(r.coverage, .99);
  EXPECT_DOUBLE_EQ(r.training_s, .3);
  EXPECT_DOUBLE_EQ(r.machine_seconds, .6);
  EXPECT_EQ(r.peak_rss_bytes, 101);
  EXPECT_DOUBLE_EQ(r.clock_error_ms, .5);
  EXPECT_EQ(r.parameter_fingerprint, "0000000000000abc");
  EXPECT_THAT(r.notes, ElementsAre());
}

TEST(ReduceRunTest, BucketsAreReadyWhereTheirExchangeBegins) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  const proto::Job job = TestJob(proto::Strategy::allreduce_ring, 2);
  EXPECT_THAT(Reduced(job, reports).buckets, ElementsAre());
  for (proto::ProcessReport& report : reports) {
    report.mutable_worker()->add_bucket_bytes(1500);
    report.mutable_worker()->add_bucket_bytes(2500);
  }
  // Quick: 35 and 65 of 55 ms after the data; slow: 45 and 75 of 75 ms.
  const RunResult r = Reduced(job, reports);
  ASSERT_EQ(r.buckets.size(), 2u);
  EXPECT_EQ(r.buckets[0].bytes, 1500);
  EXPECT_DOUBLE_EQ(r.buckets[0].ready_share, (35. / 55 + 45. / 75) / 2);
  EXPECT_EQ(r.buckets[1].bytes, 2500);
  EXPECT_DOUBLE_EQ(r.buckets[1].ready_share, 1);
  // A ring of local steps exchanges all parameters as one; buckets of another model are none.
  const RunResult local = Reduced(TestJob(proto::Strategy::local_sgd, 2), reports);
  ASSERT_EQ(local.buckets.size(), 1u);
  EXPECT_EQ(local.buckets[0].bytes, 4000);
  reports[0].mutable_worker()->set_bucket_bytes(0, 1);
  reports[1].mutable_worker()->set_bucket_bytes(0, 1);
  EXPECT_THAT(Reduced(job, reports).buckets, ElementsAre());
}

TEST(ReduceRunTest, TheBreakdownAddsUp) {
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), TwoRanks());
  EXPECT_DOUBLE_EQ(r.breakdown.compute_ms, 65);
  EXPECT_DOUBLE_EQ(r.breakdown.exposed_wait_ms, 5);  // rank 0's 70-80, after its compute
  EXPECT_DOUBLE_EQ(r.breakdown.exposed_transfer_ms, 20);
  EXPECT_DOUBLE_EQ(r.breakdown.data_ms, 5);
  EXPECT_DOUBLE_EQ(r.breakdown.apply_ms, 4);
  EXPECT_DOUBLE_EQ(r.breakdown.other_ms, 1);
}

TEST(ReduceRunTest, BytesPerSynchronisedStep) {
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), TwoRanks());
  EXPECT_EQ(r.model_bytes, 4000);
  EXPECT_DOUBLE_EQ(r.bytes_sent_per_step, 4000);
  EXPECT_DOUBLE_EQ(r.bytes_formula_per_step, 4000);  // 2 (2-1)/2 M
  EXPECT_DOUBLE_EQ(r.wire_bytes_sent_per_step, 4200);
  EXPECT_DOUBLE_EQ(r.wire_bytes_received_per_step, 4300);
  EXPECT_EQ(r.synchronisations, 3);
}

TEST(ReduceRunTest, StragglerIsTheRankTheOthersWaitedFor) {
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), TwoRanks());
  ASSERT_TRUE(r.straggler.has_value());
  EXPECT_EQ(r.straggler->rank, 1);
  EXPECT_DOUBLE_EQ(*r.straggler->share_of_steps, 1);
  EXPECT_DOUBLE_EQ(r.straggler->excess_ms, 10);
  EXPECT_EQ(r.straggler->phase, "compute");
  EXPECT_FALSE(r.straggler->within_clock_error);
}

TEST(ReduceRunTest, AnExcessWithinTheClockErrorSaysSo) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  reports[0].set_clock_error_ns(10 * kMs);
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), reports);
  EXPECT_TRUE(r.straggler->within_clock_error);
}

TEST(ReduceRunTest, StragglerThroughDataOrThePreviousCommunication) {
  const proto::Job job = TestJob(proto::Strategy::ps_sync, 2, 1);
  Step late_data = Quick(100);
  late_data.data = 30;
  late_data.ops = {{50, 70}, {80, 95}};
  std::vector<proto::ProcessReport> reports = {Worker(0, 0, {Quick(0), Quick(100)}),
                                               Worker(1, 0, {Quick(0), late_data}), Server(0)};
  EXPECT_EQ(Reduced(job, reports).straggler->phase, "data");

  Step long_communication = Quick(0);
  long_communication.hidden = 5;
  Step late = Quick(100);
  late.ops = {{50, 70}, {80, 95}};
  reports[1] = Worker(1, 0, {long_communication, late});
  EXPECT_EQ(Reduced(job, reports).straggler->phase, "previous communication");
}

TEST(ReduceRunTest, NobodyIsLastWhereAllStartTogether) {
  const RunResult r =
      Reduced(TestJob(proto::Strategy::allreduce_ring, 2),
              {Worker(0, 0, {Quick(0), Quick(100)}), Worker(1, 0, {Quick(0), Quick(100)})});
  EXPECT_FALSE(r.straggler.has_value());
  EXPECT_DOUBLE_EQ(r.wait_ms, 0);
}

TEST(ReduceRunTest, WaitIsClippedToTheOperation) {
  // Rank 1 seems to start after rank 0's operation has ended (an error of the clocks).
  Step early = Quick(100);
  early.communication = 10;
  early.hidden = 0;
  early.ops = {{60, 70}};
  Step late = early;
  late.ops = {{90, 100}};
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2),
                              {Worker(0, 0, {Quick(0), early}), Worker(1, 0, {Quick(0), late})});
  EXPECT_DOUBLE_EQ(r.wait_ms, 5);  // all of rank 0's 10 ms, none of rank 1's
  EXPECT_DOUBLE_EQ(r.transfer_ms, 5);
}

TEST(ReduceRunTest, StepTimesArePooledOverRanks) {
  std::vector<Step> a, b;
  for (int64_t i = 0; i < 11; ++i) {
    Step step;
    step.start = 1000 * i;
    step.length = 10 + i;  // the first is warm-up: 11..20 remain
    step.covered = step.length;
    a.push_back(step);
    step.length = 20 + i;  // 21..30
    step.covered = step.length;
    b.push_back(step);
  }
  const RunResult r = Reduced(TestJob(proto::Strategy::ps_async, 2, 1),
                              {Worker(0, 0, a), Worker(1, 0, b), Server(0)});
  EXPECT_DOUBLE_EQ(r.step_ms_median, 20.5);
  EXPECT_DOUBLE_EQ(r.step_ms_p95, 29);  // 19th of 20
  EXPECT_DOUBLE_EQ(r.worker_figures[1].step_ms_median, 25.5);
}

TEST(ReduceRunTest, OffsetsAlignTheStartAndTheEnd) {
  // On the rendezvous's clock rank 1 runs 50 ms after rank 0.
  const RunResult r = Reduced(
      TestJob(proto::Strategy::ps_async, 2, 1),
      {Worker(0, 777, {Step{0}, Step{100}}), Worker(1, -31, {Step{50}, Step{150}}), Server(0)});
  EXPECT_DOUBLE_EQ(r.samples_per_second, 128 / .15);
  EXPECT_DOUBLE_EQ(r.training_s, .25);
  EXPECT_DOUBLE_EQ(r.machine_seconds, .75);
}

TEST(ReduceRunTest, ABoundsWaitIsTheTimeHeld) {
  Step held;
  held.start = 100;
  held.compute = 40;
  held.communication = 50;
  held.hidden = 10;
  held.held = 30;
  const RunResult r =
      Reduced(TestJob(proto::Strategy::ps_ssp, 2, 1),
              {Worker(0, 0, {Step{}, held}), Worker(1, 0, {Step{}, held}), Server(0)});
  EXPECT_DOUBLE_EQ(r.wait_ms, 30);
  EXPECT_DOUBLE_EQ(r.transfer_ms, 20);
  EXPECT_DOUBLE_EQ(r.breakdown.exposed_wait_ms, 30);
  EXPECT_DOUBLE_EQ(r.breakdown.exposed_transfer_ms, 10);
}

TEST(ReduceRunTest, AsyncHasNoWaitAndTheSlowestRankIsTheStraggler) {
  Step quick = Quick(100), slow = Slow(100);
  slow.length = 140;
  slow.covered = 139;
  const RunResult r =
      Reduced(TestJob(proto::Strategy::ps_async, 2, 1),
              {Worker(0, 0, {Quick(0), quick}), Worker(1, 0, {Quick(0), slow}), Server(0)});
  EXPECT_DOUBLE_EQ(r.wait_ms, 0);
  EXPECT_EQ(r.straggler->rank, 1);
  EXPECT_FALSE(r.straggler->share_of_steps.has_value());
  EXPECT_DOUBLE_EQ(r.straggler->excess_ms, 40);
  EXPECT_EQ(r.straggler->phase, "compute");
  EXPECT_EQ(r.updates_per_global_batch, 2);
  EXPECT_DOUBLE_EQ(r.effective_learning_rate, .2);  // two pushes at half the rate
}

TEST(ReduceRunTest, Servers) {
  std::vector<proto::ProcessReport> reports = {Worker(0, 0, {Quick(0), Quick(100)}),
                                               Worker(1, 0, {Quick(0), Quick(100)}), Server(1),
                                               Server(0)};
  proto::ServerReport& one = *reports[2].mutable_server();
  one.set_parameter_bytes(3000);
  one.set_apply_ns(8 * kMs);
  for (int64_t count : {1, 0, 3}) one.add_staleness_histogram(count);
  one.set_staleness_max(2);
  one.set_lead_steps_max(1);
  one.add_held_replies(4);
  one.add_held_ns(5 * kMs);
  proto::ServerReport& zero = *reports[3].mutable_server();
  zero.set_parameter_bytes(1000);
  for (int64_t count : {2, 2}) zero.add_staleness_histogram(count);
  zero.set_staleness_max(1);
  zero.set_lead_steps_max(3);
  zero.add_held_replies(1);
  zero.add_held_ns(7 * kMs);
  reports[0].mutable_worker()->mutable_steps()->set_held_ns(0, 4 * kMs);
  reports[0].mutable_worker()->mutable_steps()->set_held_ns(1, 5 * kMs);
  const RunResult r = Reduced(TestJob(proto::Strategy::ps_ssp, 2), reports);
  EXPECT_THAT(r.staleness.histogram, ElementsAre(3, 2, 3));
  EXPECT_DOUBLE_EQ(r.staleness.mean, 1);
  EXPECT_EQ(r.staleness.max, 2);
  EXPECT_EQ(r.lead_steps_max, 3);
  EXPECT_DOUBLE_EQ(r.shard_imbalance, 1.5);
  ASSERT_EQ(r.server_figures.size(), 2u);
  EXPECT_DOUBLE_EQ(r.server_figures[1].apply_ms_per_step, 4);
  EXPECT_EQ(r.worker_figures[0].held_replies, 5);
  EXPECT_DOUBLE_EQ(r.worker_figures[0].held_ms, 9);  // by its own account
  EXPECT_EQ(r.worker_figures[1].held_replies, 0);
  EXPECT_DOUBLE_EQ(r.bytes_formula_per_step, 4000);  // a worker of servers: M
  EXPECT_EQ(r.processes[3].name, "server 1");
  EXPECT_DOUBLE_EQ(r.machine_seconds, .8);
}

TEST(ReduceRunTest, TimeAndCostToTheTarget) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  AddEvaluation(reports[1], 1, 100, .80);
  AddEvaluation(reports[1], 2, 200, .87);
  AddEvaluation(reports[1], 3, 300, .86);
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), reports);
  EXPECT_DOUBLE_EQ(*r.time_to_target_s, .2);
  EXPECT_DOUBLE_EQ(*r.machine_seconds_to_target, .4);
  EXPECT_DOUBLE_EQ(*r.bytes_to_target, 16000);  // two thirds of 24000
  EXPECT_DOUBLE_EQ(*r.test_accuracy, .86);      // the last, not the best
  EXPECT_DOUBLE_EQ(*r.test_loss, .5);
  ASSERT_EQ(r.accuracy_curve.size(), 3u);
  EXPECT_EQ(r.accuracy_curve[1].samples, 256);
}

TEST(ReduceRunTest, NotReachedAndNotEvaluatedAreEmpty) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), reports);
  EXPECT_FALSE(r.test_accuracy.has_value());
  EXPECT_FALSE(r.time_to_target_s.has_value());
  AddEvaluation(reports[1], 3, 300, .8699);
  r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), reports);
  EXPECT_TRUE(r.test_accuracy.has_value());
  EXPECT_FALSE(r.time_to_target_s.has_value());
  EXPECT_FALSE(r.machine_seconds_to_target.has_value());
}

TEST(ReduceRunTest, OneProcessOneStepLongWarmup) {
  Step only = Quick(0);
  only.communication = only.hidden = 0;
  only.ops.clear();
  only.covered = 64;
  proto::Job job = TestJob(proto::Strategy::single, 4);
  job.mutable_measure()->set_warmup_steps(20);
  const RunResult r = Reduced(job, {Worker(0, 0, {only})});
  EXPECT_EQ(r.workers, 1);
  EXPECT_EQ(r.servers, 0);
  EXPECT_EQ(r.shards, 4);
  EXPECT_DOUBLE_EQ(r.samples_per_second, 640);  // never 0: all steps are measured
  EXPECT_EQ(r.warmup_steps_left_out, 0);
  EXPECT_EQ(r.synchronisations, 0);
  EXPECT_DOUBLE_EQ(r.bytes_sent_per_step, 0);
  EXPECT_DOUBLE_EQ(r.bytes_formula_per_step, 0);
  EXPECT_DOUBLE_EQ(r.overlap, 0);
  EXPECT_FALSE(r.straggler.has_value());
  EXPECT_THAT(r.notes, ElementsAre(HasSubstr("the warm-up of 20 steps is as long as the run of 1"),
                                   HasSubstr("cover only 64.0%")));
}

TEST(ReduceRunTest, ThinnedRecordsKeepTheThroughput) {
  // Every second of the steps 0..4 was kept: 5 steps of 100 ms.
  proto::ProcessReport report = Worker(0, 0, {Quick(0), Quick(200), Quick(400)});
  for (int i = 0; i < 3; ++i) report.mutable_worker()->mutable_steps()->set_step(i, 2 * i);
  proto::Job job = TestJob(proto::Strategy::single, 1);
  job.mutable_measure()->set_warmup_steps(0);
  const RunResult r = Reduced(job, {report});
  EXPECT_DOUBLE_EQ(r.samples_per_second, 640);
  EXPECT_EQ(r.steps, 5);
  EXPECT_EQ(r.loss_curve.back().samples, 320);
}

TEST(ReduceRunTest, LossCurveIsWeightedThinnedAndFlagsNaN) {
  std::vector<Step> steps;
  for (int i = 0; i < 1000; ++i) {
    Step step{100 * i};
    step.loss = i == 999 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i);
    steps.push_back(step);
  }
  const RunResult r = Reduced(TestJob(proto::Strategy::single, 1), {Worker(0, 0, steps)});
  ASSERT_EQ(r.loss_curve.size(), 200u);
  EXPECT_DOUBLE_EQ(r.loss_curve[0].loss, 2);  // of 0..4
  EXPECT_EQ(r.loss_curve[0].step, 4);
  EXPECT_DOUBLE_EQ(r.loss_curve[0].time_s, .5);
  EXPECT_EQ(r.loss_curve[0].samples, 320);
  EXPECT_TRUE(std::isnan(r.loss_curve[199].loss));
  EXPECT_THAT(r.notes, ElementsAre("the loss stopped being finite by step 999"));

  Step light = Quick(0), heavy = Slow(0);
  light.samples = 10;
  light.loss = 1;
  heavy.samples = 30;
  heavy.loss = 3;
  const RunResult two = Reduced(TestJob(proto::Strategy::allreduce_ring, 2),
                                {Worker(0, 0, {light}), Worker(1, 0, {heavy})});
  ASSERT_EQ(two.loss_curve.size(), 1u);
  EXPECT_DOUBLE_EQ(two.loss_curve[0].loss, 2.5);
  EXPECT_EQ(two.loss_curve[0].samples, 40);
}

TEST(ReduceRunTest, PictureOfAStepThatAllRanksKept) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  const auto add = [](proto::ProcessReport& report, int64_t step, int64_t start, int64_t end) {
    proto::Span& span = *report.mutable_worker()->add_sample_spans();
    span.set_kind("compute");
    span.set_step(step);
    span.set_op(-1);
    span.set_start_ns(start * kMs - report.clock_offset_ns());
    span.set_end_ns(end * kMs - report.clock_offset_ns());
  };
  add(reports[1], 1, 105, 160);
  add(reports[0], 1, 103, 180);
  add(reports[1], 0, 5, 60);  // neither exchanges anything nor is the last
  add(reports[0], 0, 3, 80);
  add(reports[1], 2, 205, 260);  // rank 1 kept none of step 2
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), reports);
  EXPECT_EQ(r.step_picture.step, 1);
  EXPECT_DOUBLE_EQ(r.step_picture.duration_ms, 77);
  ASSERT_EQ(r.step_picture.spans.size(), 2u);
  EXPECT_DOUBLE_EQ(r.step_picture.spans[0].start_ms, 2);
  EXPECT_DOUBLE_EQ(r.step_picture.spans[1].start_ms, 0);
  EXPECT_DOUBLE_EQ(r.step_picture.spans[1].end_ms, 77);
}

TEST(ReduceRunTest, ThePictureIsOfAStepThatCommunicates) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  for (proto::ProcessReport& report : reports) {
    for (int64_t step = 0; step < 3; ++step) {
      proto::Span& span = *report.mutable_worker()->add_sample_spans();
      span.set_kind(step == 1 ? "reduce" : "compute");
      span.set_step(step);
      span.set_end_ns(kMs);
    }
  }
  const RunResult r = Reduced(TestJob(proto::Strategy::local_sgd, 2), reports);
  EXPECT_EQ(r.step_picture.step, 1);
}

TEST(ReduceRunTest, WorkersThatDisagreeAndJobsThatSlowOneDownAreNoted) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  reports[0].mutable_worker()->set_parameter_fingerprint(1);
  proto::Job job = TestJob(proto::Strategy::allreduce_ring, 2);
  job.mutable_straggler()->set_rank(1);
  job.mutable_straggler()->set_factor(3);
  const RunResult r = Reduced(job, reports);
  EXPECT_FALSE(r.parameters_equal);
  EXPECT_THAT(r.notes, ElementsAre(HasSubstr("different parameters"),
                                   HasSubstr("worker 1 was slowed down by the job")));
}

TEST(ReduceRunTest, BurstsAreNoted) {
  proto::Job job = TestJob(proto::Strategy::allreduce_ring, 2);
  job.mutable_straggler()->set_rank(1);
  job.mutable_straggler()->set_factor(3);
  job.mutable_straggler()->set_burst_steps(20);
  EXPECT_THAT(Reduced(job, TwoRanks()).notes,
              ElementsAre("worker 1 was slowed down by the job: its compute takes 3 times as long, "
                          "in bursts of 20 steps on average, 20% of all steps"));
  job.mutable_straggler()->set_wanders(true);
  EXPECT_THAT(Reduced(job, TwoRanks()).notes,
              ElementsAre(HasSubstr("; each burst but the first falls on a worker drawn")));
}

TEST(ReduceRunTest, AnEmulatedRunIsScaledBackAndSaysSo) {
  proto::Job job = TestJob(proto::Strategy::allreduce_ring, 2);
  job.set_model(proto::Model::emulated);
  job.mutable_emulated()->set_time_scale(4);
  job.mutable_emulated()->set_bytes_scale(16);
  const RunResult r = Reduced(job, TwoRanks());
  EXPECT_EQ(r.scales.time, 4);
  EXPECT_EQ(r.scales.bytes, 16);
  EXPECT_DOUBLE_EQ(r.step_ms_mean, 25);
  EXPECT_DOUBLE_EQ(r.samples_per_second, 5120);
  EXPECT_DOUBLE_EQ(r.communication_share, .25);
  EXPECT_EQ(r.model_bytes, 64000);
  EXPECT_DOUBLE_EQ(r.bytes_sent_per_step, 64000);
  EXPECT_DOUBLE_EQ(r.bytes_formula_per_step, 64000);
  EXPECT_TRUE(r.loss_curve.empty());
  EXPECT_THAT(r.notes, ElementsAre(AllOf(HasSubstr("profile resnet50 is waited out"),
                                         HasSubstr("4 times as long and bytes 16 times as small"),
                                         Not(HasSubstr("loopback")))));
  RunContext context;
  context.network.kind = "loopback";
  const auto on_loopback = ReduceRun(job, TwoRanks(), context);
  ASSERT_TRUE(on_loopback.ok()) << on_loopback.status();
  EXPECT_THAT(on_loopback->notes, ElementsAre(HasSubstr("loopback was not slowed with them")));
  job.mutable_emulated()->set_profile("");
  EXPECT_THAT(Reduced(job, TwoRanks()).notes, ElementsAre(HasSubstr("the job's own layers is")));
}

TEST(ReduceRunTest, AProfileOfAnotherBatchIsNoted) {
  proto::Job job = TestJob(proto::Strategy::allreduce_ring, 2);
  job.set_model(proto::Model::emulated);
  job.mutable_emulated()->set_compute_speed(2);
  job.mutable_emulated()->set_batch(job.global_batch() / 2);
  EXPECT_THAT(Reduced(job, TwoRanks()).notes, ElementsAre(HasSubstr("at 2 times its speed")));
  job.mutable_emulated()->set_batch(1);
  EXPECT_THAT(Reduced(job, TwoRanks()).notes,
              ElementsAre(HasSubstr("emulated"), HasSubstr("times are of 1 samples a worker")));
}

TEST(ReduceRunTest, DifferentOperationCountsAreSkippedAndNoted) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  Step one_op = Quick(200);
  one_op.ops.pop_back();
  reports[1] = Worker(0, 0, {Quick(0), Quick(100), one_op});
  const RunResult r = Reduced(TestJob(proto::Strategy::allreduce_ring, 2), reports);
  EXPECT_DOUBLE_EQ(r.wait_ms, 5);  // 20 ms in one of four rank-steps
  EXPECT_THAT(r.notes, ElementsAre(HasSubstr("1 steps are left out of the wait")));
}

TEST(ReduceRunTest, ContextIsPassedOn) {
  RunContext context;
  context.repetition = 2;
  context.rerun_command = "compare --seed=1";
  context.environment.congestion_control = "bbr";
  context.network.shaping = "1 Gbit/s";
  std::vector<proto::ProcessReport> reports = TwoRanks();
  reports[1].mutable_worker()->set_blas_library("libopenblas");
  reports[1].mutable_worker()->set_torch_threads(3);
  reports[1].mutable_worker()->set_congestion_control("cubic");
  const auto r = ReduceRun(TestJob(proto::Strategy::allreduce_ring, 2), reports, context);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->repetition, 2);
  EXPECT_EQ(r->environment.blas_library, "libopenblas");
  EXPECT_EQ(r->environment.versions.at("LibTorch's threads, worker 0"), "3");
  EXPECT_EQ(r->environment.congestion_control, "bbr");
  EXPECT_EQ(r->network.shaping, "1 Gbit/s");
  EXPECT_THAT(r->resolved_job, HasSubstr("allreduce_ring"));
  EXPECT_THAT(r->resolved_job, HasSubstr("momentum"));  // defaults are written out
}

TEST(ReduceRunTest, AFailedRunKeepsItsNameAndReason) {
  RunContext context;
  context.repetition = 1;
  const RunResult r =
      FailedRun(TestJob(proto::Strategy::ps_sync, 2), context, "worker 1 was lost at step 7");
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.strategy, "ps_sync");
  EXPECT_EQ(r.repetition, 1);
  EXPECT_EQ(r.failure, "worker 1 was lost at step 7");
  EXPECT_FALSE(FailedRun(TestJob(proto::Strategy::ps_sync, 2), context, "").ok());
}

TEST(ReduceRunTest, AClockThatStandsStillIsRefused) {
  Step nothing{0, 0, 0, 0, 0, 0, 0, 0, {}};
  EXPECT_THAT(ErrorOf(TestJob(proto::Strategy::single, 1), {Worker(0, 0, {nothing})}),
              HasSubstr("the clock stood still"));
}

}  // namespace
}  // namespace crossover::experiments
