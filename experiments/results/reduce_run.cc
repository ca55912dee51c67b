#include "experiments/results/reduce_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/learning_rate.h"
#include "core/status.h"
#include "core/strategy_traits.h"
#include "experiments/results/arrivals.h"
#include "experiments/results/curves.h"
#include "experiments/results/run_reports.h"
#include "experiments/results/scale_back.h"
#include "experiments/results/statistics.h"

namespace crossover::experiments {
namespace {

constexpr int64_t kBytesPerValue = 4;

std::string Hexadecimal(uint64_t value) { return absl::StrFormat("%016x", value); }

RunResult Describe(const proto::Job& job, const RunContext& context) {
  RunResult result;
  result.job_name = job.name();
  result.model = proto::Model::Name_Name(job.model());
  result.strategy = StrategyName(job.strategy());
  result.workers = WorkerProcesses(job);
  result.servers = UsesServers(job) ? job.servers() : 0;
  result.shards = job.workers();
  result.repetition = context.repetition;
  result.start_time = context.start_time;
  result.wall_s = context.wall_s;
  result.rerun_command = context.rerun_command;
  result.resolved_job = PrintJob(WithDefaults(job));
  result.job_fingerprint = Hexadecimal(JobFingerprint(job));
  result.environment = context.environment;
  result.network = context.network;
  result.nodes = context.nodes;
  result.target_accuracy = job.measure().target_accuracy();
  return result;
}

// Samples between the first measured step's start and the last step's end, over that
// time. A row that stands for several steps counts for each but the last one.
absl::StatusOr<double> SamplesPerSecond(const std::vector<const WorkerTrack*>& workers) {
  double samples = 0;
  int64_t start_ns = std::numeric_limits<int64_t>::max();
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  for (const WorkerTrack* worker : workers) {
    for (const StepRow& row : worker->measured()) {
      samples += static_cast<double>(row.samples) * static_cast<double>(row.stands_for_steps);
      start_ns = std::min(start_ns, row.interval.start_ns);
      end_ns = std::max(end_ns, row.interval.end_ns);
    }
  }
  if (end_ns <= start_ns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", workers[0]->rank, ": its measured steps take no time: the clock stood still"));
  }
  return samples / (static_cast<double>(end_ns - start_ns) / kNsPerS);
}

// The means over ranks and measured steps, which add up, and the pooled step times.
void ReduceSteps(const AlignedRun& run, const Waits& waits, RunResult& result) {
  double step_ns = 0, compute_ns = 0, communication_ns = 0, hidden_ns = 0, data_ns = 0;
  double apply_ns = 0, covered_ns = 0, wait_ns = 0, exposed_wait_ns = 0, alone_ns = 0;
  double data_alone_ns = 0;
  std::vector<double> step_ms;
  for (size_t rank = 0; rank < run.workers.size(); ++rank) {
    const std::span<const StepRow> rows = run.workers[rank].measured();
    for (size_t i = 0; i < rows.size(); ++i) {
      const StepRow& row = rows[i];
      step_ms.push_back(row.length_ns() / kNsPerMs);
      step_ns += row.length_ns();
      compute_ns += row.compute_ns;
      communication_ns += row.communication_ns;
      hidden_ns += row.hidden_ns;
      data_ns += row.data_ns;
      apply_ns += row.apply_ns;
      covered_ns += row.covered_ns;
      wait_ns += waits[rank][i].wait_ns;
      exposed_wait_ns += waits[rank][i].exposed_wait_ns;
      // What is covered by data and apply alone. Data is read on the compute thread, so
      // it is the one that cannot lie beneath compute.
      const int64_t row_alone_ns =
          std::max<int64_t>(0, row.covered_ns - row.compute_ns - row.exposed_ns());
      alone_ns += row_alone_ns;
      data_alone_ns += std::min(row.data_ns, row_alone_ns);
    }
  }
  const double ns_per_mean_ms = kNsPerMs * step_ms.size();
  const double exposed_ns = communication_ns - hidden_ns;
  result.step_ms_mean = step_ns / ns_per_mean_ms;
  result.step_ms_median = Median(step_ms);
  result.step_ms_p95 = Percentile(step_ms, 95);
  result.communication_share = step_ns > 0 ? exposed_ns / step_ns : 0;
  result.overlap = communication_ns > 0 ? hidden_ns / communication_ns : 0;
  result.coverage = step_ns > 0 ? covered_ns / step_ns : 0;
  result.compute_ms = compute_ns / ns_per_mean_ms;
  result.communication_ms = communication_ns / ns_per_mean_ms;
  result.hidden_ms = hidden_ns / ns_per_mean_ms;
  result.exposed_ms = exposed_ns / ns_per_mean_ms;
  result.wait_ms = wait_ns / ns_per_mean_ms;
  result.transfer_ms = (communication_ns - wait_ns) / ns_per_mean_ms;
  result.data_ms = data_ns / ns_per_mean_ms;
  result.apply_ms = apply_ns / ns_per_mean_ms;
  result.other_ms = (step_ns - covered_ns) / ns_per_mean_ms;
  result.breakdown.compute_ms = result.compute_ms;
  result.breakdown.exposed_wait_ms = exposed_wait_ns / ns_per_mean_ms;
  result.breakdown.exposed_transfer_ms = (exposed_ns - exposed_wait_ns) / ns_per_mean_ms;
  result.breakdown.data_ms = data_alone_ns / ns_per_mean_ms;
  result.breakdown.apply_ms = (alone_ns - data_alone_ns) / ns_per_mean_ms;
  result.breakdown.other_ms = result.other_ms;
}

absl::Status ReduceWorkers(const AlignedRun& run, const Waits& waits, RunResult& result) {
  for (size_t rank = 0; rank < run.workers.size(); ++rank) {
    const WorkerTrack& worker = run.workers[rank];
    WorkerFigures figures;
    figures.rank = worker.rank;
    figures.host = worker.report->host();
    ASSIGN_OR_RETURN(figures.samples_per_second, SamplesPerSecond({&worker}));
    std::vector<double> step, compute, exposed, wait;
    const std::span<const StepRow> rows = worker.measured();
    for (size_t i = 0; i < rows.size(); ++i) {
      step.push_back(rows[i].length_ns() / kNsPerMs);
      compute.push_back(rows[i].compute_ns / kNsPerMs);
      exposed.push_back(rows[i].exposed_ns() / kNsPerMs);
      wait.push_back(waits[rank][i].wait_ns / kNsPerMs);
    }
    figures.step_ms_median = Median(step);
    figures.compute_ms_median = Median(compute);
    figures.exposed_ms_median = Median(exposed);
    figures.wait_ms_median = Median(wait);
    for (const proto::ProcessReport* server : run.servers) {
      const proto::ServerReport& report = server->server();
      const int index = worker.rank;
      if (index < report.held_replies_size()) figures.held_replies += report.held_replies(index);
    }
    for (const StepRow& row : worker.rows) {
      figures.held_ms += row.held_ns / kNsPerMs * row.stands_for_steps;
    }
    result.worker_figures.push_back(figures);
  }
  return absl::OkStatus();
}

// What an AllReduce of so many bytes went by; empty where the worker does not say.
proto::AllReduceRange RangeFor(const proto::WorkerReport& worker, int64_t bytes) {
  for (const proto::AllReduceRange& range : worker.all_reduces()) {
    if (range.up_to_bytes() == 0 || bytes <= range.up_to_bytes()) return range;
  }
  return {};
}
std::string AlgorithmFor(const proto::WorkerReport& worker, int64_t bytes) {
  return RangeFor(worker, bytes).algorithm();
}

void ReduceBytes(const AlignedRun& run, RunResult& result) {
  double sent = 0, received = 0, wire_sent = 0, wire_received = 0;
  for (const WorkerTrack& worker : run.workers) {
    const proto::WorkerReport& report = worker.report->worker();
    if (report.synchronisations() <= 0) continue;
    const double parts = static_cast<double>(report.synchronisations()) * run.workers.size();
    sent += report.payload_sent_bytes() / parts;
    received += report.payload_received_bytes() / parts;
    wire_sent += report.wire_sent_bytes() / parts;
    wire_received += report.wire_received_bytes() / parts;
    result.synchronisations = std::max(result.synchronisations, report.synchronisations());
  }
  result.model_bytes = run.workers[0].report->worker().parameter_count() * kBytesPerValue;
  result.bytes_sent_per_step = sent;
  result.bytes_received_per_step = received;
  result.wire_bytes_sent_per_step = wire_sent;
  result.wire_bytes_received_per_step = wire_received;
}

// Data is read before compute begins, so a bucket's exchange starts after both of its parts.
void ReduceBuckets(const proto::Job& job, const AlignedRun& run, RunResult& result) {
  const proto::WorkerReport& first = run.workers[0].report->worker();
  const bool whole = TraitsOf(job).local_steps && TraitsOf(job).collective;
  if (whole) {
    // One exchange of all parameters, whatever the buckets.
    result.buckets = {{result.model_bytes, 1, AlgorithmFor(first, result.model_bytes)}};
    return;
  }
  int64_t planned_bytes = 0;
  for (const int64_t bytes : first.bucket_bytes()) planned_bytes += std::max<int64_t>(bytes, 0);
  if (TraitsOf(job).one_process || planned_bytes != result.model_bytes) return;
  for (int bucket = 0; bucket < first.bucket_bytes_size(); ++bucket) {
    std::vector<double> shares;
    for (const WorkerTrack& worker : run.workers) {
      for (const StepRow& row : worker.measured()) {
        if (row.ops.size() != static_cast<size_t>(first.bucket_bytes_size())) continue;
        const int64_t start_ns = row.ops[bucket].start_ns - row.interval.start_ns - row.data_ns;
        if (row.compute_ns <= 0) continue;
        shares.push_back(std::clamp(static_cast<double>(start_ns) / row.compute_ns, 0.0, 1.0));
      }
    }
    const double ready = shares.empty() || TraitsOf(job).local_steps ? 1 : Median(shares);
    const int64_t bytes = first.bucket_bytes(bucket);
    result.buckets.push_back({bytes, ready, AlgorithmFor(first, bytes)});
  }
}

// What a worker should send and receive in a synchronised step.
double FormulaBytes(const proto::Job& job, const proto::WorkerReport& worker,
                    const RunResult& result) {
  const StrategyTraits traits = TraitsOf(job);
  if (!traits.collective || traits.servers || result.buckets.empty() ||
      worker.all_reduces().empty()) {
    return BytesPerSynchronisation(job, static_cast<double>(result.model_bytes));
  }
  double formula = 0;
  for (const auto& bucket : result.buckets) {
    const proto::AllReduceRange range = RangeFor(worker, bucket.bytes);
    const auto m = static_cast<double>(bucket.bytes);
    proto::AllReduce::Algorithm algorithm{};
    // Shared memory's bytes are no network's, and in no ledger.
    if (!proto::AllReduce::Algorithm_Parse(range.algorithm(), &algorithm)) continue;
    const int hosts = range.hosts_sharing_memory();
    formula += hosts > 0 ? AllReduceBytesBetweenHosts(hosts, job.workers(), m)
                         : AllReduceBytes(algorithm, job.workers(), m);
  }
  return formula;
}

void ReduceServers(const AlignedRun& run, RunResult& result) {
  std::vector<int64_t>& histogram = result.staleness.histogram;
  double parameter_bytes = 0, largest_bytes = 0;
  for (const proto::ProcessReport* process : run.servers) {
    const proto::ServerReport& report = process->server();
    ServerFigures figures;
    figures.rank = process->rank();
    figures.host = process->host();
    figures.parameter_bytes = report.parameter_bytes();
    figures.state_bytes = report.state_bytes();
    figures.apply_ms_per_step = report.apply_ns() / kNsPerMs / result.steps;
    figures.pushes = report.pushes();
    figures.payload_received_bytes = report.payload_received_bytes();
    figures.payload_sent_bytes = report.payload_sent_bytes();
    figures.wire_received_bytes = report.wire_received_bytes();
    figures.wire_sent_bytes = report.wire_sent_bytes();
    result.server_figures.push_back(figures);
    parameter_bytes += static_cast<double>(report.parameter_bytes());
    largest_bytes = std::max(largest_bytes, static_cast<double>(report.parameter_bytes()));
    const size_t slots = report.staleness_histogram_size();
    histogram.resize(std::max(histogram.size(), slots));
    for (size_t i = 0; i < slots; ++i) histogram[i] += report.staleness_histogram(i);
    result.staleness.max = std::max(result.staleness.max, report.staleness_max());
    result.lead_steps_max = std::max(result.lead_steps_max, report.lead_steps_max());
    for (const int64_t late : report.late_pushes()) result.late_pushes += late;
  }
  if (parameter_bytes > 0) {
    result.shard_imbalance = largest_bytes * run.servers.size() / parameter_bytes;
  }
  double pushes = 0, staleness = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    pushes += static_cast<double>(histogram[i]);
    staleness += static_cast<double>(histogram[i]) * i;
  }
  if (pushes > 0) result.staleness.mean = staleness / pushes;
}

// What a run is charged for: nodes, or on one machine, where none of them stands for a
// machine, processes.
int64_t Machines(const RunResult& run) {
  const bool one_machine = run.network.kind.empty() || run.network.kind == "loopback";
  return one_machine ? run.workers + run.servers : run.nodes;
}

// By how much servers lowered the learning rate of pushes for their staleness: the mean over them.
double RateCorrection(const AlignedRun& run) {
  double scheduled = 0, effective = 0;
  for (const proto::ProcessReport* server : run.servers) {
    scheduled += server->server().scheduled_learning_rate();
    effective += server->server().effective_learning_rate();
  }
  return scheduled > 0 ? effective / scheduled : 1;
}

void ReduceLearning(const proto::Job& job, const AlignedRun& run, RunResult& result) {
  const LearningRateSchedule schedule(job.learning_rate(), job.global_batch(), result.steps);
  result.learning_rate_peak = schedule.peak();
  result.updates_per_global_batch = UpdatesPerGlobalBatch(job);
  result.effective_learning_rate = result.learning_rate_peak * PushRateFactor(job) *
                                   RateCorrection(run) *
                                   static_cast<double>(result.updates_per_global_batch);
  // An emulated model's loss is none.
  if (!IsEmulated(job)) result.loss_curve = LossCurve(run);
  result.accuracy_curve = AccuracyCurve(run);
  result.step_picture = PictureOfStep(run);
  const auto machines = static_cast<double>(Machines(result));
  result.machine_seconds = machines * result.training_s;
  if (result.accuracy_curve.empty()) return;
  result.test_accuracy = result.accuracy_curve.back().accuracy;
  result.test_loss = result.accuracy_curve.back().loss;
  double sent = 0;
  for (const WorkerTrack& worker : run.workers) {
    sent += static_cast<double>(worker.report->worker().payload_sent_bytes());
  }
  const double samples = SamplesBy(run, run.training.end_ns);
  for (const AccuracyPoint& point : result.accuracy_curve) {
    if (!(point.accuracy >= result.target_accuracy)) continue;
    result.time_to_target_s = point.time_s;
    result.machine_seconds_to_target = machines * point.time_s;
    if (samples > 0) result.bytes_to_target = sent * (point.samples / samples);
    return;
  }
}

void ReduceProcesses(const AlignedRun& run, RunResult& result) {
  std::vector<const proto::ProcessReport*> reports;
  for (const WorkerTrack& worker : run.workers) reports.push_back(worker.report);
  reports.insert(reports.end(), run.servers.begin(), run.servers.end());
  int64_t clock_error_ns = 0;
  for (const proto::ProcessReport* report : reports) {
    result.processes.push_back(
        {ProcessName(*report), report->host(), report->peak_rss_bytes(), report->cpu_s()});
    result.peak_rss_bytes = std::max(result.peak_rss_bytes, report->peak_rss_bytes());
    clock_error_ns = std::max(clock_error_ns, report->clock_error_ns());
  }
  result.clock_error_ms = clock_error_ns / kNsPerMs;
  const proto::WorkerReport& first = run.workers[0].report->worker();
  result.parameter_fingerprint = Hexadecimal(first.parameter_fingerprint());
  result.parameter_norm = first.parameter_norm();
  for (const WorkerTrack& worker : run.workers) {
    if (worker.report->worker().parameter_fingerprint() != first.parameter_fingerprint()) {
      result.parameters_equal = false;
    }
  }
  Environment& environment = result.environment;
  if (environment.blas_library.empty()) environment.blas_library = first.blas_library();
  if (first.torch_threads() > 0) {
    environment.versions["LibTorch's threads, worker 0"] = absl::StrCat(first.torch_threads());
  }
  if (environment.congestion_control.empty()) {
    environment.congestion_control = first.congestion_control();
  }
}

std::string StragglerNote(const proto::Straggler& straggler) {
  std::string note =
      absl::StrFormat("worker %d was slowed down by the job: its compute takes %g times as long",
                      straggler.rank(), straggler.factor());
  if (straggler.burst_steps() == 0) return note;
  absl::StrAppendFormat(&note, ", in bursts of %d steps on average, %g%% of all steps",
                        straggler.burst_steps(), 100 * straggler.burst_share());
  if (straggler.wanders()) {
    absl::StrAppend(&note, "; each burst but the first falls on a worker drawn by the seed");
  }
  return note;
}

void AddEmulationNotes(const proto::Job& job, const Network& network,
                       std::vector<std::string>& notes) {
  const Scales scales = ScalesOf(job);
  const std::string& profile = job.emulated().profile();
  std::string note =
      absl::StrCat("emulated: the compute of ",
                   profile.empty() ? "the job's own layers" : absl::StrCat("profile ", profile),
                   " is waited out");
  if (job.emulated().compute_speed() != 1) {
    absl::StrAppendFormat(&note, " at %g times its speed", job.emulated().compute_speed());
  }
  if (scales.time != 1 || scales.bytes != 1) {
    absl::StrAppendFormat(&note,
                          "; times were measured %g times as long and bytes %g times as small, and "
                          "are scaled back; the server's apply time, CPU, memory and wall_s are "
                          "real",
                          scales.time, scales.bytes);
    if (network.kind == "loopback") {
      absl::StrAppend(&note,
                      "; loopback was not slowed with them, so nothing here is of a network");
    }
  }
  notes.push_back(note);
  const int64_t batch = job.global_batch() / job.workers();
  if (job.emulated().batch() > 0 && job.emulated().batch() != batch) {
    notes.push_back(absl::StrCat("the profile's times are of ", job.emulated().batch(),
                                 " samples a worker and step and the job counts ", batch,
                                 ": its samples/s are not the profile's machine's"));
  }
}

void AddNotes(const proto::Job& job, const AlignedRun& run, const Arrivals& arrivals,
              RunResult& result) {
  std::vector<std::string>& notes = result.notes;
  if (!run.warmup_left_out) {
    notes.push_back(absl::StrCat("the warm-up of ", job.measure().warmup_steps(),
                                 " steps is as long as the run of ", result.steps,
                                 ": all steps were measured, start-up included"));
  }
  const int64_t stride = run.workers[0].rows.front().stands_for_steps;
  if (stride > 1) {
    notes.push_back(absl::StrCat("only one step in ", stride, " was recorded"));
  }
  if (arrivals.skipped_steps > 0) {
    notes.push_back(absl::StrCat(arrivals.skipped_steps,
                                 " steps are left out of the wait: the ranks recorded different "
                                 "numbers of operations"));
  }
  if (result.coverage < 0.99) {
    notes.push_back(
        absl::StrFormat("the spans cover only %.1f%% of the step: part of it is not "
                        "accounted for",
                        100 * result.coverage));
  }
  for (const LossPoint& point : result.loss_curve) {
    if (std::isfinite(point.loss)) continue;
    notes.push_back(absl::StrCat("the loss stopped being finite by step ", point.step));
    break;
  }
  if (!result.parameters_equal) {
    notes.push_back("the workers ended with different parameters; the accuracy is rank 0's");
  }
  if (job.straggler().rank() >= 0) notes.push_back(StragglerNote(job.straggler()));
  if (IsEmulated(job)) AddEmulationNotes(job, result.network, notes);
}

}  // namespace

absl::StatusOr<RunResult> ReduceRun(const proto::Job& job,
                                    const std::vector<proto::ProcessReport>& reports,
                                    const RunContext& context) {
  ASSIGN_OR_RETURN(const AlignedRun run, AlignReports(job, reports));
  RunResult result = Describe(job, context);
  for (const WorkerTrack& worker : run.workers) {
    result.steps = std::max(result.steps, worker.steps());
  }
  result.warmup_steps_left_out =
      run.warmup_left_out ? std::max<int64_t>(0, job.measure().warmup_steps()) : 0;
  result.training_s = (run.training.end_ns - run.training.start_ns) / kNsPerS;
  std::vector<const WorkerTrack*> workers;
  for (const WorkerTrack& worker : run.workers) workers.push_back(&worker);
  ASSIGN_OR_RETURN(result.samples_per_second, SamplesPerSecond(workers));
  const Arrivals arrivals = TraitsOf(job).barrier ? WaitsAtBarriers(run) : WaitsAtBound(run);
  ReduceSteps(run, arrivals.waits, result);
  RETURN_IF_ERROR(ReduceWorkers(run, arrivals.waits, result));
  ReduceBytes(run, result);
  ReduceBuckets(job, run, result);
  result.bytes_formula_per_step = FormulaBytes(job, run.workers[0].report->worker(), result);
  ReduceServers(run, result);
  ReduceLearning(job, run, result);
  ReduceProcesses(run, result);
  result.straggler = FindStraggler(run, TraitsOf(job).barrier);
  AddNotes(job, run, arrivals, result);
  ScaleBack(ScalesOf(job), result);
  return result;
}

RunResult FailedRun(const proto::Job& job, const RunContext& context, std::string_view why) {
  RunResult result = Describe(job, context);
  result.failure = why.empty() ? "it ended without saying why" : std::string(why);
  return result;
}

}  // namespace crossover::experiments
