#include "experiments/results/arrivals.h"

#include <algorithm>
#include <utility>

#include "experiments/results/statistics.h"

namespace crossover::experiments {
namespace {

// The rows of all ranks of one step; empty unless every rank has the step with the
// same number of operations.
std::vector<const StepRow*> RowsOfStep(const AlignedRun& run, const StepRow& row) {
  std::vector<const StepRow*> rows;
  for (const WorkerTrack& worker : run.workers) {
    const StepRow* found = FindRow(worker, row.step);
    if (found == nullptr || found->ops.size() != row.ops.size()) return {};
    rows.push_back(found);
  }
  return rows;
}

// The worker reports how long its communication was exposed, not when. The trainer
// computes first and then waits for the rest, so the exposed part is taken to be the
// end of the step's operations: the time from which `exposed_ns` of them remain.
int64_t ExposedFromNs(const std::vector<Interval>& ops, int64_t exposed_ns) {
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    const int64_t length_ns = op->end_ns - op->start_ns;
    if (length_ns >= exposed_ns) return op->end_ns - exposed_ns;
    exposed_ns -= length_ns;
  }
  return ops.empty() ? 0 : ops.front().start_ns;
}

StepWait WaitOfStep(const StepRow& row, const std::vector<int64_t>& last_start_ns) {
  std::vector<Interval> waits;
  for (size_t i = 0; i < row.ops.size(); ++i) {
    waits.push_back({row.ops[i].start_ns, std::min(row.ops[i].end_ns, last_start_ns[i])});
  }
  const std::vector<Interval> waiting = Union(waits);
  const int64_t exposed_from_ns = ExposedFromNs(Union(row.ops), row.exposed_ns());
  StepWait result;
  result.wait_ns = std::min(LengthNs(Clip(waiting, row.interval.start_ns, row.interval.end_ns)),
                            row.communication_ns);
  result.exposed_wait_ns =
      std::min({LengthNs(Clip(waiting, std::max(exposed_from_ns, row.interval.start_ns),
                              row.interval.end_ns)),
                row.exposed_ns(), result.wait_ns});
  return result;
}

double MedianOfOthers(const std::vector<double>& values, size_t rank) {
  std::vector<double> others;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != rank) others.push_back(values[i]);
  }
  return Median(std::move(others));
}

// How much longer than the others a rank took, phase by phase, summed over steps.
class PhaseExcess {
 public:
  // `before`: the rows of the step before, empty if there is none.
  void Add(const std::vector<const StepRow*>& rows, const std::vector<const StepRow*>& before,
           size_t rank) {
    compute_ns_ += Excess(rows, rank, [](const StepRow& row) { return row.compute_ns; });
    data_ns_ += Excess(rows, rank, [](const StepRow& row) { return row.data_ns; });
    if (before.empty()) return;
    exposed_ns_ += Excess(before, rank, [](const StepRow& row) { return row.exposed_ns(); });
  }
  std::string Largest() const {
    const double largest = std::max({compute_ns_, data_ns_, exposed_ns_});
    if (largest <= 0) return "none";
    if (largest == compute_ns_) return "compute";
    return largest == data_ns_ ? "data" : "previous communication";
  }

 private:
  template <typename Get>
  static double Excess(const std::vector<const StepRow*>& rows, size_t rank, Get get) {
    std::vector<double> values;
    for (const StepRow* row : rows) values.push_back(static_cast<double>(get(*row)));
    return values[rank] - MedianOfOthers(values, rank);
  }

  double compute_ns_ = 0;
  double data_ns_ = 0;
  double exposed_ns_ = 0;
};

struct LastRank {
  size_t rank = 0;
  double excess_ns = 0;  // over the median of the others' starts
  bool unique = false;   // no other rank started as late
};

// By the operation of the step whose last start lies farthest from the others'. Later
// operations of a rank follow one another, so only one tells who was late.
LastRank LastOfStep(const std::vector<const StepRow*>& rows) {
  LastRank last;
  for (size_t op = 0; op < rows[0]->ops.size(); ++op) {
    std::vector<double> starts;
    const int64_t origin_ns = rows[0]->ops[op].start_ns;
    for (const StepRow* row : rows) {
      starts.push_back(static_cast<double>(row->ops[op].start_ns - origin_ns));
    }
    const size_t rank = std::max_element(starts.begin(), starts.end()) - starts.begin();
    const double excess_ns = starts[rank] - MedianOfOthers(starts, rank);
    if (op > 0 && excess_ns <= last.excess_ns) continue;
    last = {rank, excess_ns, std::count(starts.begin(), starts.end(), starts[rank]) == 1};
  }
  return last;
}

bool WithinClockError(const AlignedRun& run, double excess_ms) {
  int64_t error_ns = 0;
  for (const WorkerTrack& worker : run.workers) {
    error_ns = std::max(error_ns, worker.report->clock_error_ns());
  }
  return excess_ms <= error_ns / kNsPerMs;
}

std::optional<StragglerFigures> StragglerAtBarriers(const AlignedRun& run) {
  const size_t ranks = run.workers.size();
  std::vector<int64_t> times_last(ranks);
  std::vector<double> excess_ns(ranks);
  std::vector<PhaseExcess> phases(ranks);
  int64_t steps = 0;
  for (const StepRow& row : run.workers[0].measured()) {
    const std::vector<const StepRow*> rows = RowsOfStep(run, row);
    if (rows.empty() || row.ops.empty()) continue;
    ++steps;
    const LastRank last = LastOfStep(rows);
    if (!last.unique) continue;
    ++times_last[last.rank];
    excess_ns[last.rank] += last.excess_ns;
    std::vector<const StepRow*> before;
    for (const WorkerTrack& worker : run.workers) {
      if (const StepRow* found = FindRow(worker, row.step - 1)) before.push_back(found);
    }
    if (before.size() != ranks) before.clear();
    phases[last.rank].Add(rows, before, last.rank);
  }
  const size_t rank = std::max_element(times_last.begin(), times_last.end()) - times_last.begin();
  if (steps == 0 || times_last[rank] == 0) return std::nullopt;
  StragglerFigures straggler;
  straggler.rank = static_cast<int64_t>(rank);
  straggler.share_of_steps = static_cast<double>(times_last[rank]) / steps;
  straggler.excess_ms = excess_ns[rank] / times_last[rank] / kNsPerMs;
  straggler.phase = phases[rank].Largest();
  straggler.within_clock_error = WithinClockError(run, straggler.excess_ms);
  return straggler;
}

StragglerFigures SlowestRank(const AlignedRun& run) {
  std::vector<double> rates, step_ms;
  for (const WorkerTrack& worker : run.workers) {
    double samples = 0, length_ns = 0;
    for (const StepRow& row : worker.measured()) {
      samples += static_cast<double>(row.samples);
      length_ns += static_cast<double>(row.length_ns());
    }
    rates.push_back(length_ns > 0 ? samples / length_ns : 0);
    step_ms.push_back(length_ns / worker.measured().size() / kNsPerMs);
  }
  const size_t rank = std::min_element(rates.begin(), rates.end()) - rates.begin();
  PhaseExcess phase;
  for (const StepRow& row : run.workers[rank].measured()) {
    std::vector<const StepRow*> rows, before;
    for (const WorkerTrack& worker : run.workers) {
      if (const StepRow* found = FindRow(worker, row.step)) rows.push_back(found);
      if (const StepRow* found = FindRow(worker, row.step - 1)) before.push_back(found);
    }
    if (before.size() != run.workers.size()) before.clear();
    if (rows.size() == run.workers.size()) phase.Add(rows, before, rank);
  }
  StragglerFigures straggler;
  straggler.rank = static_cast<int64_t>(rank);
  straggler.excess_ms = step_ms[rank] - MedianOfOthers(step_ms, rank);
  straggler.phase = phase.Largest();
  return straggler;
}

}  // namespace

Arrivals WaitsAtBarriers(const AlignedRun& run) {
  Arrivals arrivals;
  for (const WorkerTrack& worker : run.workers) {
    std::vector<StepWait>& waits = arrivals.waits.emplace_back();
    for (const StepRow& row : worker.measured()) {
      const std::vector<const StepRow*> rows = RowsOfStep(run, row);
      if (rows.empty() && worker.rank == 0) ++arrivals.skipped_steps;
      std::vector<int64_t> last_start_ns;
      for (size_t op = 0; op < row.ops.size(); ++op) {
        int64_t last_ns = row.ops[op].start_ns;
        for (const StepRow* other : rows) last_ns = std::max(last_ns, other->ops[op].start_ns);
        last_start_ns.push_back(last_ns);
      }
      waits.push_back(WaitOfStep(row, last_start_ns));
    }
  }
  return arrivals;
}

Arrivals WaitsAtBound(const AlignedRun& run) {
  Arrivals arrivals;
  for (const WorkerTrack& worker : run.workers) {
    std::vector<StepWait>& waits = arrivals.waits.emplace_back();
    for (const StepRow& row : worker.measured()) {
      const int64_t wait_ns = std::min(row.held_ns, row.communication_ns);
      waits.push_back({wait_ns, std::min(wait_ns, row.exposed_ns())});
    }
  }
  return arrivals;
}

std::optional<StragglerFigures> FindStraggler(const AlignedRun& run, bool has_barrier) {
  if (run.workers.size() < 2) return std::nullopt;
  if (!has_barrier) return SlowestRank(run);
  return StragglerAtBarriers(run);
}

}  // namespace crossover::experiments
