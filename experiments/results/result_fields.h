// The fields of the structs of result.h under their names in JSON, in the order of a
// line: each named once, for the writer and the reader of json_archive.h alike.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_RESULT_FIELDS_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_RESULT_FIELDS_H_

#include "experiments/results/result.h"

namespace crossover::experiments {

template <typename Archive>
void Fields(Archive& a, Environment& v) {
  a("cpu_model", v.cpu_model);
  a("cores", v.cores);
  a("memory_bytes", v.memory_bytes);
  a("kernel", v.kernel);
  a("hostname", v.hostname);
  a("compiler", v.compiler);
  a("git_commit", v.git_commit);
  a("git_dirty", v.git_dirty);
  a("blas_library", v.blas_library);
  a("congestion_control", v.congestion_control);
  a("versions", v.versions);
}

template <typename Archive>
void Fields(Archive& a, ProbedNode& v) {
  a("name", v.name);
  a("send_bytes_per_s", v.send_bytes_per_s);
  a("receive_bytes_per_s", v.receive_bytes_per_s);
  a("promised_bytes_per_s", v.promised_bytes_per_s);
  a("rtt_us", v.rtt_us);
  a.Later("clock_offset_s", v.clock_offset_s);
  a.Later("clock_error_s", v.clock_error_s);
}

template <typename Archive>
void Fields(Archive& a, Network& v) {
  a("interface", v.interface);
  a("loopback", v.loopback);
  a("kind", v.kind);
  a("shaping", v.shaping);
  a("congestion_control", v.congestion_control);
  a("placement", v.placement);
  a("probe", v.probe);
}

template <typename Archive>
void Fields(Archive& a, Scales& v) {
  a("time", v.time);
  a("bytes", v.bytes);
}

template <typename Archive>
void Fields(Archive& a, TuneTrial& v) {
  a("learning_rate", v.learning_rate);
  a("validation_accuracy", v.validation_accuracy);
  a("loss", v.loss);
}

template <typename Archive>
void Fields(Archive& a, Tuning& v) {
  a("budget", v.budget);
  a("trials", v.trials);
  a("chosen_learning_rate", v.chosen_learning_rate);
}

template <typename Archive>
void Fields(Archive& a, BucketFigures& v) {
  a("bytes", v.bytes);
  a("ready_share", v.ready_share);
  a.Later("algorithm", v.algorithm);
}

template <typename Archive>
void Fields(Archive& a, StalenessFigures& v) {
  a("histogram", v.histogram);
  a("mean", v.mean);
  a("max", v.max);
}

template <typename Archive>
void Fields(Archive& a, WorkerFigures& v) {
  a("rank", v.rank);
  a("host", v.host);
  a("samples_per_second", v.samples_per_second);
  a("step_ms_median", v.step_ms_median);
  a("compute_ms_median", v.compute_ms_median);
  a("exposed_ms_median", v.exposed_ms_median);
  a("wait_ms_median", v.wait_ms_median);
  a("held_replies", v.held_replies);
  a("held_ms", v.held_ms);
}

template <typename Archive>
void Fields(Archive& a, ServerFigures& v) {
  a("rank", v.rank);
  a("host", v.host);
  a("parameter_bytes", v.parameter_bytes);
  a("state_bytes", v.state_bytes);
  a("apply_ms_per_step", v.apply_ms_per_step);
  a("pushes", v.pushes);
  a("payload_received_bytes", v.payload_received_bytes);
  a("payload_sent_bytes", v.payload_sent_bytes);
  a("wire_received_bytes", v.wire_received_bytes);
  a("wire_sent_bytes", v.wire_sent_bytes);
}

template <typename Archive>
void Fields(Archive& a, ProcessFigures& v) {
  a("name", v.name);
  a("host", v.host);
  a("peak_rss_bytes", v.peak_rss_bytes);
  a("cpu_s", v.cpu_s);
}

template <typename Archive>
void Fields(Archive& a, StragglerFigures& v) {
  a("rank", v.rank);
  a("share_of_steps", v.share_of_steps);
  a("excess_ms", v.excess_ms);
  a("phase", v.phase);
  a("within_clock_error", v.within_clock_error);
}

template <typename Archive>
void Fields(Archive& a, LossPoint& v) {
  a("step", v.step);
  a("time_s", v.time_s);
  a("samples", v.samples);
  a("loss", v.loss);
}

template <typename Archive>
void Fields(Archive& a, AccuracyPoint& v) {
  a("step", v.step);
  a("time_s", v.time_s);
  a("samples", v.samples);
  a("accuracy", v.accuracy);
  a("loss", v.loss);
}

template <typename Archive>
void Fields(Archive& a, PictureSpan& v) {
  a("rank", v.rank);
  a("kind", v.kind);
  a("op", v.op);
  a("start_ms", v.start_ms);
  a("end_ms", v.end_ms);
}

template <typename Archive>
void Fields(Archive& a, StepPicture& v) {
  a("step", v.step);
  a("duration_ms", v.duration_ms);
  a("spans", v.spans);
}

template <typename Archive>
void Fields(Archive& a, Breakdown& v) {
  a("compute_ms", v.compute_ms);
  a("exposed_transfer_ms", v.exposed_transfer_ms);
  a("exposed_wait_ms", v.exposed_wait_ms);
  a("data_ms", v.data_ms);
  a("apply_ms", v.apply_ms);
  a("other_ms", v.other_ms);
}

template <typename Archive>
void StepFields(Archive& a, RunResult& v) {
  a("steps", v.steps);
  a("warmup_steps_left_out", v.warmup_steps_left_out);
  a("samples_per_second", v.samples_per_second);
  a("step_ms_mean", v.step_ms_mean);
  a("step_ms_median", v.step_ms_median);
  a("step_ms_p95", v.step_ms_p95);
  a("communication_share", v.communication_share);
  a("overlap", v.overlap);
  a("coverage", v.coverage);
  a("compute_ms", v.compute_ms);
  a("communication_ms", v.communication_ms);
  a("hidden_ms", v.hidden_ms);
  a("exposed_ms", v.exposed_ms);
  a("wait_ms", v.wait_ms);
  a("transfer_ms", v.transfer_ms);
  a("data_ms", v.data_ms);
  a("apply_ms", v.apply_ms);
  a("other_ms", v.other_ms);
  a("breakdown", v.breakdown);
}

template <typename Archive>
void Fields(Archive& a, RunResult& v) {
  a("job_name", v.job_name);
  a("model", v.model);
  a("strategy", v.strategy);
  a("workers", v.workers);
  a("servers", v.servers);
  a("shards", v.shards);
  a("nodes", v.nodes);
  a("repetition", v.repetition);
  a("failure", v.failure);
  StepFields(a, v);
  a("synchronisations", v.synchronisations);
  a("model_bytes", v.model_bytes);
  a.Later("buckets", v.buckets);
  a("bytes_sent_per_step", v.bytes_sent_per_step);
  a("bytes_received_per_step", v.bytes_received_per_step);
  a("bytes_formula_per_step", v.bytes_formula_per_step);
  a("wire_bytes_sent_per_step", v.wire_bytes_sent_per_step);
  a("wire_bytes_received_per_step", v.wire_bytes_received_per_step);
  a("bytes_to_target", v.bytes_to_target);
  a("staleness", v.staleness);
  a("lead_steps_max", v.lead_steps_max);
  a.Later("late_pushes", v.late_pushes);
  a("learning_rate_peak", v.learning_rate_peak);
  a("updates_per_global_batch", v.updates_per_global_batch);
  a("effective_learning_rate", v.effective_learning_rate);
  a("test_accuracy", v.test_accuracy);
  a("test_loss", v.test_loss);
  a("target_accuracy", v.target_accuracy);
  a("time_to_target_s", v.time_to_target_s);
  a("machine_seconds", v.machine_seconds);
  a("machine_seconds_to_target", v.machine_seconds_to_target);
  a("peak_rss_bytes", v.peak_rss_bytes);
  a("shard_imbalance", v.shard_imbalance);
  a("clock_error_ms", v.clock_error_ms);
  a("parameter_fingerprint", v.parameter_fingerprint);
  a("parameter_norm", v.parameter_norm);
  a("parameters_equal", v.parameters_equal);
  a("straggler", v.straggler);
  a("worker_figures", v.worker_figures);
  a("server_figures", v.server_figures);
  a("processes", v.processes);
  a("notes", v.notes);
  a("start_time", v.start_time);
  a("wall_s", v.wall_s);
  a("training_s", v.training_s);
  a("rerun_command", v.rerun_command);
  a("job_fingerprint", v.job_fingerprint);
  a("resolved_job", v.resolved_job);
  a("network", v.network);
  a("scales", v.scales);
  a("tuning", v.tuning);
  a.Later("planned_runs", v.planned_runs);
  a.Later("resume_time", v.resume_time);
  a("environment", v.environment);
  a("accuracy_curve", v.accuracy_curve);
  a("loss_curve", v.loss_curve);
  a("step_picture", v.step_picture);
}

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_RESULT_FIELDS_H_
