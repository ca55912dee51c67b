// Two result folders side by side: what differs between the comparisons, and by how much
// their figures do. Pure.
//
// Runs of one job, strategy and seed are pairs; where the seeds are not all the same, the two
// sides are compared as they are. An interval of the difference is as everywhere: a bootstrap
// 95% interval from 6 repetitions on, else the range. A difference exceeds noise where the
// interval leaves out 0 and, for times with fewer than 6 repetitions, the sides' ranges do not
// overlap either: a seed makes a pair of two trainings, not of two moments of a machine.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_DIFF_H_
#define CROSSOVER_EXPERIMENTS_REPORT_DIFF_H_

#include <optional>
#include <string>
#include <vector>

#include "experiments/results/result.h"
#include "experiments/results/statistics.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {

struct DiffSide {
  std::string name;  // as the user named the folder
  std::vector<RunResult> results;
};

// One metric of one strategy. The difference is B - A.
struct DiffRow {
  std::string strategy;
  int metric = 0;  // index of DiffMetrics()
  std::optional<FigureSummary> a;
  std::optional<FigureSummary> b;
  PairedDifference difference;  // pairs is 0 where the sides were not paired
  bool exceeds_noise = false;
};

// One job that both sides ran.
struct DiffStudy {
  std::string title;
  std::vector<std::string> job;    // fields of the job that differ
  std::vector<std::string> notes;  // strategies of one side alone, failures, pairing
  std::vector<DiffRow> rows;       // by strategy, then metric
};

struct Diff {
  std::string a;
  std::string b;
  bool same_runs = false;                // of one folder, or of a copy: nothing can differ
  std::vector<std::string> environment;  // what differs
  std::vector<std::string> notes;        // jobs of one side alone
  std::vector<DiffStudy> studies;
};

struct DiffMetric {
  std::string name;
  Figure figure;
  std::string (*format)(double);
  bool points = false;   // a share: its difference is in percentage points
  bool of_time = false;  // depends on the machine's moment, not on the seed alone
};
const std::vector<DiffMetric>& DiffMetrics();

Diff MakeDiff(const DiffSide& a, const DiffSide& b);

// For the terminal, and as a Markdown page: differences of environment and job first, then a
// table for each job.
std::string DiffText(const Diff& diff);
std::string DiffMarkdown(const Diff& diff);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_DIFF_H_
