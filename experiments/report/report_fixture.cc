#include "experiments/report/report_fixture.h"

namespace crossover::experiments {

proto::Job TestJob(proto::Strategy::Name strategy, int workers, int servers) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(workers);
  job.set_servers(servers);
  job.set_global_batch(int64_t{64} * workers);
  job.mutable_measure()->set_warmup_steps(1);
  return job;
}

proto::ProcessReport Worker(int rank, int64_t offset_ms, const std::vector<Step>& steps) {
  proto::ProcessReport report;
  report.set_role(proto::WORKER);
  report.set_rank(rank);
  report.set_host("h");
  report.set_clock_offset_ns(offset_ms * kMs);
  proto::WorkerReport& worker = *report.mutable_worker();
  proto::StepColumns& columns = *worker.mutable_steps();
  int64_t index = 0;
  for (const Step& step : steps) {
    const int64_t start = step.start - offset_ms;
    columns.add_step(index++);
    columns.add_start_ns(start * kMs);
    columns.add_end_ns((start + step.length) * kMs);
    columns.add_compute_ns(step.compute * kMs);
    columns.add_communication_ns(step.communication * kMs);
    columns.add_hidden_ns(step.hidden * kMs);
    columns.add_data_ns(step.data * kMs);
    columns.add_apply_ns(step.apply * kMs);
    columns.add_held_ns(step.held * kMs);
    columns.add_covered_ns(step.covered * kMs);
    columns.add_samples(step.samples);
    columns.add_loss(step.loss);
    columns.add_op_count(static_cast<int32_t>(step.ops.size()));
    for (const auto& [op_start, op_end] : step.ops) {
      columns.add_op_start_ns((start + op_start) * kMs);
      columns.add_op_end_ns((start + op_end) * kMs);
    }
  }
  if (!steps.empty()) {
    worker.set_train_start_ns((steps.front().start - offset_ms) * kMs);
    worker.set_train_end_ns((steps.back().start + steps.back().length - offset_ms) * kMs);
  }
  worker.set_parameter_count(1000);
  worker.set_parameter_fingerprint(0xabc);
  return report;
}

proto::ProcessReport Server(int rank) {
  proto::ProcessReport report;
  report.set_role(proto::SERVER);
  report.set_rank(rank);
  report.mutable_server()->set_parameter_bytes(2000);
  return report;
}

void AddEvaluation(proto::ProcessReport& report, int64_t steps, int64_t time_ms, double accuracy) {
  proto::Evaluation& evaluation = *report.mutable_worker()->add_evaluations();
  evaluation.set_step(steps);
  evaluation.set_train_time_ns(time_ms * kMs);
  evaluation.set_accuracy(accuracy);
  evaluation.set_loss(.5);
}

Step Quick(int64_t start) { return {start, 100, 55, 55, 20, 5, 4, 99, {{40, 70}, {70, 95}}}; }
Step Slow(int64_t start) { return {start, 100, 75, 35, 20, 5, 4, 99, {{50, 70}, {80, 95}}}; }

std::vector<proto::ProcessReport> TwoRanks() {
  std::vector<proto::ProcessReport> reports = {
      Worker(1, -1000, {Slow(0), Slow(100), Slow(200)}),
      Worker(0, 0, {Quick(0), Quick(100), Quick(200)}),
  };
  for (proto::ProcessReport& report : reports) {
    report.mutable_worker()->set_synchronisations(3);
    report.mutable_worker()->set_payload_sent_bytes(12000);
    report.mutable_worker()->set_payload_received_bytes(12000);
    report.mutable_worker()->set_wire_sent_bytes(12600);
    report.mutable_worker()->set_wire_received_bytes(12900);
    report.set_peak_rss_bytes(100 + report.rank());
    report.set_clock_error_ns(report.rank() * kMs / 2);
  }
  return reports;
}

}  // namespace crossover::experiments
