#include "experiments/results/run_reports.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "core/status.h"

namespace crossover::experiments {
namespace {

constexpr int64_t kSamplesLimit = int64_t{1} << 32;
constexpr int kRowsLimit = 1 << 20;

absl::Status Invalid(const proto::ProcessReport& report, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the report of ", ProcessName(report), ": ", what));
}

absl::Status CheckColumns(const proto::ProcessReport& report) {
  const proto::StepColumns& columns = report.worker().steps();
  const int rows = columns.step_size();
  if (rows == 0) return Invalid(report, "it holds no step: the worker ended before its first");
  if (rows > kRowsLimit) return Invalid(report, absl::StrCat(rows, " steps are too many"));
  const std::pair<const char*, int> sizes[] = {
      {"start_ns", columns.start_ns_size()},
      {"end_ns", columns.end_ns_size()},
      {"compute_ns", columns.compute_ns_size()},
      {"communication_ns", columns.communication_ns_size()},
      {"hidden_ns", columns.hidden_ns_size()},
      {"data_ns", columns.data_ns_size()},
      {"apply_ns", columns.apply_ns_size()},
      {"held_ns", columns.held_ns_size()},
      {"covered_ns", columns.covered_ns_size()},
      {"samples", columns.samples_size()},
      {"loss", columns.loss_size()},
      {"op_count", columns.op_count_size()},
  };
  for (const auto& [name, size] : sizes) {
    if (size != rows) {
      return Invalid(report,
                     absl::StrCat("column ", name, " has ", size, " entries, column step ", rows));
    }
  }
  int64_t ops = 0;
  for (int32_t count : columns.op_count()) {
    if (count < 0) return Invalid(report, "a negative op_count");
    ops += count;
  }
  if (columns.op_start_ns_size() != ops || columns.op_end_ns_size() != ops) {
    return Invalid(report, absl::StrCat("op_count adds up to ", ops, ", but there are ",
                                        columns.op_start_ns_size(), " starts and ",
                                        columns.op_end_ns_size(), " ends"));
  }
  return absl::OkStatus();
}

absl::Status CheckRow(const proto::ProcessReport& report, const StepRow& row, int64_t last_step) {
  const auto invalid = [&](const std::string& what) {
    return Invalid(report, absl::StrCat("step ", row.step, ": ", what));
  };
  if (row.step <= last_step) return invalid("steps are not in order");
  if (row.interval.end_ns < row.interval.start_ns) return invalid("it ends before it starts");
  const std::pair<const char*, int64_t> parts[] = {
      {"compute_ns", row.compute_ns}, {"communication_ns", row.communication_ns},
      {"hidden_ns", row.hidden_ns},   {"data_ns", row.data_ns},
      {"apply_ns", row.apply_ns},     {"covered_ns", row.covered_ns},
  };
  for (const auto& [name, value] : parts) {
    if (value < 0 || value > row.length_ns()) {
      return invalid(absl::StrCat(name, " is ", value, ", the step's length ", row.length_ns()));
    }
  }
  if (row.hidden_ns > std::min(row.compute_ns, row.communication_ns)) {
    return invalid("hidden_ns is larger than compute_ns or communication_ns");
  }
  if (row.held_ns < 0 || row.held_ns > kTimeLimitNs) return invalid("held_ns is out of range");
  if (row.samples < 0 || row.samples > kSamplesLimit) return invalid("samples is out of range");
  for (const Interval& op : row.ops) {
    if (op.end_ns < op.start_ns) return invalid("an operation ends before it starts");
  }
  return absl::OkStatus();
}

bool TimesInRange(const proto::ProcessReport& report) {
  const proto::StepColumns& columns = report.worker().steps();
  const auto all = [](const auto& times) {
    return std::all_of(times.begin(), times.end(), TimeInRange);
  };
  return TimeInRange(report.clock_offset_ns()) && all(columns.start_ns()) &&
         all(columns.end_ns()) && all(columns.op_start_ns()) && all(columns.op_end_ns()) &&
         TimeInRange(report.worker().train_start_ns()) &&
         TimeInRange(report.worker().train_end_ns());
}

// A row stands for the steps up to the next recorded one, but for none of those that a late worker
// of ps_backup left out: every so many steps are recorded, at their least distance.
void SetStandsForSteps(std::vector<StepRow>& rows) {
  int64_t stride = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    stride = std::min(stride, rows[i + 1].step - rows[i].step);
  }
  for (size_t i = 0; i + 1 < rows.size(); ++i) rows[i].stands_for_steps = stride;
}

absl::StatusOr<WorkerTrack> ReadWorker(const proto::ProcessReport& report) {
  RETURN_IF_ERROR(CheckColumns(report));
  if (!TimesInRange(report)) return Invalid(report, "a time is out of range");
  const proto::StepColumns& columns = report.worker().steps();
  const int64_t offset_ns = report.clock_offset_ns();
  WorkerTrack track;
  track.rank = report.rank();
  track.report = &report;
  track.training = {report.worker().train_start_ns() + offset_ns,
                    report.worker().train_end_ns() + offset_ns};
  if (track.training.end_ns < track.training.start_ns) {
    return Invalid(report, "the training ends before it starts");
  }
  int op = 0;
  int64_t last_step = -1;
  for (int i = 0; i < columns.step_size(); ++i) {
    StepRow row;
    row.step = columns.step(i);
    row.interval = {columns.start_ns(i) + offset_ns, columns.end_ns(i) + offset_ns};
    row.compute_ns = columns.compute_ns(i);
    row.communication_ns = columns.communication_ns(i);
    row.hidden_ns = columns.hidden_ns(i);
    row.data_ns = columns.data_ns(i);
    row.apply_ns = columns.apply_ns(i);
    row.held_ns = columns.held_ns(i);
    row.covered_ns = columns.covered_ns(i);
    row.samples = columns.samples(i);
    row.loss = columns.loss(i);
    for (int k = 0; k < columns.op_count(i); ++k, ++op) {
      row.ops.push_back({columns.op_start_ns(op) + offset_ns, columns.op_end_ns(op) + offset_ns});
    }
    RETURN_IF_ERROR(CheckRow(report, row, last_step));
    last_step = row.step;
    track.rows.push_back(std::move(row));
  }
  SetStandsForSteps(track.rows);
  return track;
}

absl::Status CheckRoster(const char* role, int expected, const std::vector<bool>& seen) {
  for (int rank = 0; rank < expected; ++rank) {
    if (!seen[rank]) {
      return absl::InvalidArgumentError(
          absl::StrCat("the report of ", role, " ", rank, " is missing: it did not end in order"));
    }
  }
  return absl::OkStatus();
}

void MarkWarmup(const proto::Job& job, AlignedRun& run) {
  for (WorkerTrack& worker : run.workers) {
    const auto first =
        std::find_if(worker.rows.begin(), worker.rows.end(),
                     [&](const StepRow& row) { return row.step >= job.measure().warmup_steps(); });
    worker.first_measured = first - worker.rows.begin();
    if (first == worker.rows.end()) run.warmup_left_out = false;
  }
  if (run.warmup_left_out) return;
  for (WorkerTrack& worker : run.workers) worker.first_measured = 0;
}

}  // namespace

std::string ProcessName(const proto::ProcessReport& report) {
  return absl::StrCat(report.role() == proto::SERVER ? "server " : "worker ", report.rank());
}

absl::StatusOr<AlignedRun> AlignReports(const proto::Job& job,
                                        std::span<const proto::ProcessReport> reports) {
  const int workers = WorkerProcesses(job);
  const int servers = UsesServers(job) ? job.servers() : 0;
  AlignedRun run;
  run.workers.resize(workers);
  run.servers.resize(servers);
  std::vector<bool> worker_seen(workers), server_seen(servers);
  for (const proto::ProcessReport& report : reports) {
    const bool is_server = report.role() == proto::SERVER;
    if (!is_server && report.role() != proto::WORKER) {
      return absl::InvalidArgumentError("a report names no role");
    }
    std::vector<bool>& seen = is_server ? server_seen : worker_seen;
    const auto limit = static_cast<int>(seen.size());
    if (report.rank() < 0 || report.rank() >= limit) {
      return Invalid(report, absl::StrCat("the job has ", limit, " of that role"));
    }
    if (seen[report.rank()]) return Invalid(report, "it came twice");
    seen[report.rank()] = true;
    if (is_server) {
      run.servers[report.rank()] = &report;
    } else {
      ASSIGN_OR_RETURN(run.workers[report.rank()], ReadWorker(report));
    }
  }
  RETURN_IF_ERROR(CheckRoster("worker", workers, worker_seen));
  RETURN_IF_ERROR(CheckRoster("server", servers, server_seen));
  run.training = run.workers[0].training;
  for (const WorkerTrack& worker : run.workers) {
    run.training.start_ns = std::min(run.training.start_ns, worker.training.start_ns);
    run.training.end_ns = std::max(run.training.end_ns, worker.training.end_ns);
  }
  MarkWarmup(job, run);
  return run;
}

const StepRow* FindRow(const WorkerTrack& worker, int64_t step) {
  const auto found =
      std::lower_bound(worker.rows.begin(), worker.rows.end(), step,
                       [](const StepRow& row, int64_t wanted) { return row.step < wanted; });
  return found != worker.rows.end() && found->step == step ? &*found : nullptr;
}

}  // namespace crossover::experiments
