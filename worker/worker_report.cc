#include "worker/worker_report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "core/kept_steps.h"
#include "core/reduce.h"
#include "core/status.h"
#include "os/files.h"
#include "os/process_usage.h"

namespace crossover::worker {
namespace {

void AddStep(const StepRecord& record, proto::StepColumns& columns) {
  columns.add_step(record.step);
  columns.add_start_ns(record.interval.start_ns);
  columns.add_end_ns(record.interval.end_ns);
  columns.add_compute_ns(record.compute_ns);
  columns.add_communication_ns(record.communication_ns);
  columns.add_hidden_ns(record.hidden_ns);
  columns.add_data_ns(record.data_ns);
  columns.add_apply_ns(record.apply_ns);
  columns.add_held_ns(record.held_ns);
  columns.add_covered_ns(record.covered_ns);
  columns.add_samples(record.samples);
  columns.add_loss(static_cast<float>(record.loss));
  columns.add_op_count(static_cast<int32_t>(record.ops.size()));
  for (const OpRecord& op : record.ops) {
    columns.add_op_start_ns(op.interval.start_ns);
    columns.add_op_end_ns(op.interval.end_ns);
  }
}

void AddSpans(const Timeline::StepSpans& step,
              google::protobuf::RepeatedPtrField<proto::Span>& spans) {
  for (const TimeSpan& span : step.spans) {
    proto::Span& out = *spans.Add();
    out.set_kind(SpanKindName(span.kind));
    out.set_step(step.step);
    out.set_op(span.op);
    out.set_start_ns(span.interval.start_ns);
    out.set_end_ns(span.interval.end_ns);
  }
}

void AddKeptSpans(const Timeline& timeline, const std::vector<int64_t>& pictured_steps,
                  proto::WorkerReport& report) {
  std::set<int64_t> added;
  for (const Timeline::StepSpans& step : timeline.kept_spans()) {
    const bool pictured =
        std::find(pictured_steps.begin(), pictured_steps.end(), step.step) != pictured_steps.end();
    AddSpans(step, pictured ? *report.mutable_sample_spans() : *report.mutable_trace_spans());
    added.insert(step.step);
  }
  for (const Timeline::StepSpans& step : timeline.slowest_spans()) {
    if (added.insert(step.step).second) AddSpans(step, *report.mutable_trace_spans());
  }
}

}  // namespace

void KeepSpansForReport(const proto::Job& job, const StepPlan& plan, Timeline& timeline) {
  constexpr int kSlowest = 4;
  timeline.KeepSpansOf(KeptSteps(job, plan.total_steps));
  timeline.KeepSlowest(kSlowest, job.measure().warmup_steps());
}

absl::Status WriteWorkerReport(const WorkerReportInputs& inputs, const std::string& path) {
  proto::ProcessReport process = os::DescribeProcess();
  process.set_role(proto::WORKER);
  process.set_rank(inputs.rank);
  process.set_data_address(inputs.data_address);
  process.set_clock_offset_ns(inputs.clock_offset.offset_ns);
  process.set_clock_error_ns(inputs.clock_offset.error_ns);
  proto::WorkerReport& report = *process.mutable_worker();
  for (const StepRecord& record : inputs.timeline.steps()) {
    AddStep(record, *report.mutable_steps());
  }
  AddKeptSpans(inputs.timeline, PicturedSteps(inputs.job, inputs.plan.total_steps), report);
  for (const Bucket& bucket : inputs.buckets.buckets) {
    report.add_bucket_bytes(bucket.length * static_cast<int64_t>(sizeof(float)));
  }
  for (const proto::Evaluation& evaluation : inputs.evaluations) {
    *report.add_evaluations() = evaluation;
  }
  report.set_train_start_ns(inputs.training.start_ns);
  report.set_train_end_ns(inputs.training.end_ns);
  report.set_payload_sent_bytes(inputs.counters.payload_sent_bytes);
  report.set_payload_received_bytes(inputs.counters.payload_received_bytes);
  report.set_synchronisations(inputs.counters.synchronisations);
  report.set_late_pushes(inputs.counters.late_pushes);
  report.set_wire_sent_bytes(inputs.wire_after.sent - inputs.wire_before.sent);
  report.set_wire_received_bytes(inputs.wire_after.received - inputs.wire_before.received);
  for (const proto::AllReduceRange& range : inputs.all_reduces) *report.add_all_reduces() = range;
  report.set_divergence(inputs.divergence);
  report.set_parameter_fingerprint(Fingerprint(inputs.parameters));
  report.set_parameter_norm(std::sqrt(SumOfSquares(inputs.parameters)));
  report.set_parameter_count(static_cast<int64_t>(inputs.parameters.size()));
  report.set_blas_library(inputs.blas_library);
  report.set_torch_threads(inputs.torch_threads);
  report.set_congestion_control(net::DefaultCongestionControl());
  return os::WriteFile(path, process.SerializeAsString());
}

absl::Status WriteParameters(std::span<const float> parameters, const std::string& path) {
  const auto bytes = std::as_bytes(parameters);
  return os::WriteFile(path,
                       std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace crossover::worker
