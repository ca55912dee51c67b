#include "experiments/results/scale_back.h"

#include <cmath>
#include <initializer_list>
#include <optional>

#include "core/emulation.h"

namespace crossover::experiments {
namespace {

void ScaleStepTimes(double time, RunResult& r) {
  Breakdown& b = r.breakdown;
  for (double* ms : {&r.step_ms_mean, &r.step_ms_median, &r.step_ms_p95, &r.compute_ms,
                     &r.communication_ms, &r.hidden_ms, &r.exposed_ms, &r.wait_ms, &r.transfer_ms,
                     &r.data_ms, &r.apply_ms, &r.other_ms, &b.compute_ms, &b.data_ms, &b.apply_ms,
                     &b.exposed_transfer_ms, &b.exposed_wait_ms, &b.other_ms}) {
    *ms /= time;
  }
}

void ScaleTimes(double time, RunResult& r) {
  ScaleStepTimes(time, r);
  r.samples_per_second *= time;
  r.training_s /= time;
  r.machine_seconds /= time;
  r.clock_error_ms /= time;
  for (std::optional<double>* s : {&r.time_to_target_s, &r.machine_seconds_to_target}) {
    if (s->has_value()) **s /= time;
  }
  if (r.straggler.has_value()) r.straggler->excess_ms /= time;
  for (WorkerFigures& worker : r.worker_figures) {
    worker.samples_per_second *= time;
    for (double* ms : {&worker.step_ms_median, &worker.compute_ms_median, &worker.exposed_ms_median,
                       &worker.wait_ms_median, &worker.held_ms}) {
      *ms /= time;
    }
  }
  for (LossPoint& point : r.loss_curve) point.time_s /= time;
  for (AccuracyPoint& point : r.accuracy_curve) point.time_s /= time;
  r.step_picture.duration_ms /= time;
  for (PictureSpan& span : r.step_picture.spans) {
    span.start_ms /= time;
    span.end_ms /= time;
  }
}

void ScaleCount(double factor, int64_t& bytes) {
  bytes = std::llround(static_cast<double>(bytes) * factor);
}

void ScaleBytes(double factor, RunResult& r) {
  ScaleCount(factor, r.model_bytes);
  for (double* bytes :
       {&r.bytes_sent_per_step, &r.bytes_received_per_step, &r.bytes_formula_per_step,
        &r.wire_bytes_sent_per_step, &r.wire_bytes_received_per_step}) {
    *bytes *= factor;
  }
  if (r.bytes_to_target.has_value()) *r.bytes_to_target *= factor;
  for (BucketFigures& bucket : r.buckets) ScaleCount(factor, bucket.bytes);
  for (ServerFigures& server : r.server_figures) {
    for (int64_t* bytes :
         {&server.parameter_bytes, &server.state_bytes, &server.payload_received_bytes,
          &server.payload_sent_bytes, &server.wire_received_bytes, &server.wire_sent_bytes}) {
      ScaleCount(factor, *bytes);
    }
  }
}

}  // namespace

Scales ScalesOf(const proto::Job& job) {
  if (!IsEmulated(job)) return {};
  return {.time = job.emulated().time_scale(), .bytes = job.emulated().bytes_scale()};
}

void ScaleBack(const Scales& scales, RunResult& result) {
  result.scales = scales;
  ScaleTimes(scales.time, result);
  ScaleBytes(scales.bytes, result);
}

}  // namespace crossover::experiments
