// The reports of one run's processes, checked and brought onto one clock: the
// rendezvous's. Everything that reduces a run to figures starts from here.
//
// Reports come from files that other processes wrote, so nothing in them is
// believed before it is checked: roles and ranks are those of the job, columns
// have one length, times are ordered, parts are no longer than their step. An
// error names the process and the step.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_RUN_REPORTS_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_RUN_REPORTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/intervals.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace crossover::experiments {

// Reports have nanoseconds, results have these.
inline constexpr double kNsPerS = 1e9;
inline constexpr double kNsPerMs = 1e6;

// One recorded step of one worker. Times are the rendezvous's.
struct StepRow {
  int64_t step = 0;
  Interval interval;
  int64_t compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t hidden_ns = 0;
  int64_t data_ns = 0;
  int64_t apply_ns = 0;
  int64_t held_ns = 0;
  int64_t covered_ns = 0;
  int64_t samples = 0;
  double loss = 0;
  // Steps that the row stands for: more than 1 where a long run recorded only
  // every second (fourth, ...) of its steps.
  int64_t stands_for_steps = 1;
  std::vector<Interval> ops;

  int64_t length_ns() const { return interval.end_ns - interval.start_ns; }
  int64_t exposed_ns() const { return communication_ns - hidden_ns; }
};

struct WorkerTrack {
  int rank = 0;
  const proto::ProcessReport* report = nullptr;
  Interval training;
  std::vector<StepRow> rows;  // by step
  size_t first_measured = 0;  // rows before it are warm-up

  std::span<const StepRow> measured() const { return std::span(rows).subspan(first_measured); }
  int64_t steps() const { return rows.back().step + 1; }
};

// Borrows the reports.
struct AlignedRun {
  std::vector<WorkerTrack> workers;                  // by rank, each with at least one row
  std::vector<const proto::ProcessReport*> servers;  // by rank
  // False if the warm-up is as long as the run: then every step is measured.
  bool warmup_left_out = true;
  // First start and last end of the training loops.
  Interval training;
};

absl::StatusOr<AlignedRun> AlignReports(const proto::Job& job,
                                        std::span<const proto::ProcessReport> reports);

// The row of a step, or nullptr if the worker has none.
const StepRow* FindRow(const WorkerTrack& worker, int64_t step);

// 36 years: no clock reads more, and sums of a few such times cannot overflow.
inline constexpr int64_t kTimeLimitNs = int64_t{1} << 60;
inline bool TimeInRange(int64_t time_ns) {
  return time_ns > -kTimeLimitNs && time_ns < kTimeLimitNs;
}

// "worker 1", "server 0".
std::string ProcessName(const proto::ProcessReport& report);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_RUN_REPORTS_H_
