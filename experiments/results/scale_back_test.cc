#include "experiments/results/scale_back.h"

#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

proto::Job Emulated(double time_scale, double bytes_scale) {
  proto::Job job;
  job.set_model(proto::Model::emulated);
  job.mutable_emulated()->set_time_scale(time_scale);
  job.mutable_emulated()->set_bytes_scale(bytes_scale);
  return job;
}

// Every number is 12, every count 1,200.
RunResult AllTwelve() {
  RunResult r;
  r.samples_per_second = r.training_s = r.machine_seconds = r.clock_error_ms = r.wall_s = 12;
  r.step_ms_mean = r.step_ms_median = r.step_ms_p95 = r.compute_ms = r.communication_ms = 12;
  r.hidden_ms = r.exposed_ms = r.wait_ms = r.transfer_ms = r.data_ms = r.apply_ms = 12;
  r.other_ms = 12;
  r.breakdown = {12, 12, 12, 12, 12, 12};
  r.model_bytes = r.peak_rss_bytes = 1200;
  r.bytes_sent_per_step = r.bytes_received_per_step = r.bytes_formula_per_step = 12;
  r.wire_bytes_sent_per_step = r.wire_bytes_received_per_step = 12;
  r.time_to_target_s = r.machine_seconds_to_target = r.bytes_to_target = 12;
  r.communication_share = r.overlap = 0.12;
  r.straggler =
      StragglerFigures{.rank = 1, .share_of_steps = 0.12, .excess_ms = 12, .phase = "compute"};
  r.worker_figures = {{.host = "a",
                       .samples_per_second = 12,
                       .step_ms_median = 12,
                       .compute_ms_median = 12,
                       .exposed_ms_median = 12,
                       .wait_ms_median = 12,
                       .held_replies = 12,
                       .held_ms = 12}};
  ServerFigures server;
  server.parameter_bytes = server.state_bytes = 1200;
  server.payload_received_bytes = server.payload_sent_bytes = 1200;
  server.wire_received_bytes = server.wire_sent_bytes = 1200;
  server.apply_ms_per_step = 12;
  r.server_figures = {server};
  r.processes = {{.name = "worker 0", .host = "a", .peak_rss_bytes = 1200, .cpu_s = 12}};
  r.buckets = {{.bytes = 1200, .ready_share = 0.12}};
  r.loss_curve = {{.step = 12, .time_s = 12, .samples = 1200, .loss = 12}};
  r.accuracy_curve = {{.step = 12, .time_s = 12, .samples = 1200, .accuracy = 0.12}};
  r.step_picture = {
      .step = 12, .duration_ms = 12, .spans = {{.kind = "push", .start_ms = 12, .end_ms = 12}}};
  return r;
}

TEST(ScaleBackTest, OnlyAnEmulatedModelIsScaled) {
  EXPECT_EQ(ScalesOf(Emulated(4, 64)).time, 4);
  EXPECT_EQ(ScalesOf(Emulated(4, 64)).bytes, 64);
  proto::Job job = Emulated(4, 64);
  job.set_model(proto::Model::mlp);
  EXPECT_EQ(ScalesOf(job).time, 1);
  EXPECT_EQ(ScalesOf(job).bytes, 1);
}

TEST(ScaleBackTest, TimesAreDivided) {
  RunResult r = AllTwelve();
  ScaleBack({.time = 4}, r);
  EXPECT_EQ(r.scales.time, 4);
  for (const double ms : {r.step_ms_mean,
                          r.step_ms_median,
                          r.step_ms_p95,
                          r.compute_ms,
                          r.communication_ms,
                          r.hidden_ms,
                          r.exposed_ms,
                          r.wait_ms,
                          r.transfer_ms,
                          r.data_ms,
                          r.apply_ms,
                          r.other_ms,
                          r.breakdown.compute_ms,
                          r.breakdown.exposed_transfer_ms,
                          r.breakdown.exposed_wait_ms,
                          r.breakdown.data_ms,
                          r.breakdown.apply_ms,
                          r.breakdown.other_ms,
                          r.clock_error_ms,
                          r.training_s,
                          r.machine_seconds,
                          *r.time_to_target_s,
                          *r.machine_seconds_to_target,
                          r.straggler->excess_ms,
                          r.worker_figures[0].step_ms_median,
                          r.worker_figures[0].compute_ms_median,
                          r.worker_figures[0].exposed_ms_median,
                          r.worker_figures[0].wait_ms_median,
                          r.worker_figures[0].held_ms,
                          r.loss_curve[0].time_s,
                          r.accuracy_curve[0].time_s,
                          r.step_picture.duration_ms,
                          r.step_picture.spans[0].start_ms,
                          r.step_picture.spans[0].end_ms}) {
    EXPECT_DOUBLE_EQ(ms, 3);
  }
  EXPECT_DOUBLE_EQ(r.samples_per_second, 48);
  EXPECT_DOUBLE_EQ(r.worker_figures[0].samples_per_second, 48);
}

TEST(ScaleBackTest, BytesAreMultiplied) {
  RunResult r = AllTwelve();
  ScaleBack({.bytes = 64}, r);
  EXPECT_EQ(r.scales.bytes, 64);
  for (const double bytes :
       {r.bytes_sent_per_step, r.bytes_received_per_step, r.bytes_formula_per_step,
        r.wire_bytes_sent_per_step, r.wire_bytes_received_per_step, *r.bytes_to_target}) {
    EXPECT_DOUBLE_EQ(bytes, 12 * 64);
  }
  const ServerFigures& server = r.server_figures[0];
  for (const int64_t bytes :
       {r.model_bytes, server.parameter_bytes, server.state_bytes, server.payload_received_bytes,
        server.payload_sent_bytes, server.wire_received_bytes, server.wire_sent_bytes,
        r.buckets[0].bytes}) {
    EXPECT_EQ(bytes, 1200 * 64);
  }
  EXPECT_DOUBLE_EQ(r.step_ms_mean, 12);
}

TEST(ScaleBackTest, SharesCountsAndWhatTheMachineReallySpentStay) {
  RunResult r = AllTwelve();
  ScaleBack({.time = 4, .bytes = 64}, r);
  EXPECT_EQ(r.communication_share, 0.12);
  EXPECT_EQ(r.overlap, 0.12);
  EXPECT_EQ(*r.straggler->share_of_steps, 0.12);
  EXPECT_EQ(r.wall_s, 12);
  EXPECT_EQ(r.server_figures[0].apply_ms_per_step, 12);
  EXPECT_EQ(r.processes[0].cpu_s, 12);
  EXPECT_EQ(r.processes[0].peak_rss_bytes, 1200);
  EXPECT_EQ(r.peak_rss_bytes, 1200);
  EXPECT_EQ(r.worker_figures[0].held_replies, 12);
  EXPECT_EQ(r.loss_curve[0].samples, 1200);
  EXPECT_EQ(r.buckets[0].ready_share, 0.12);
}

}  // namespace
}  // namespace crossover::experiments
