// Every figure that a report shows, once: its name, its definition and where it is in a
// result. Tables, charts and the glossary of report.html are made from these rows, and
// docs/METRICS.md ends with the same ones (a test holds the two together).
//
// A key is the figure's path in a line of results.jsonl ("breakdown.compute_ms"), so that
// whoever doubts a number of the page can look it up; those that are worked out from several
// (no such path) say from what in their definition. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_REPORT_METRICS_H_
#define CROSSOVER_EXPERIMENTS_REPORT_REPORT_METRICS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiments/results/format.h"
#include "experiments/results/result.h"

namespace crossover::experiments {

struct Metric {
  const char* key;
  const char* name;        // as a table's heading, unit included
  const char* definition;  // a sentence or two
  // Null where the figure is not one number of a run (a worker's, a difference).
  std::optional<double> (*figure)(const RunResult&);
  NumberFormat format;
};

// In the order of the glossary.
std::span<const Metric> Metrics();

// Our own bug if there is none of this key.
const Metric& MetricOf(std::string_view key);

// As docs/METRICS.md has it: "| `key` | name | definition |", a row for each metric.
std::string MetricsGlossary();

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_REPORT_METRICS_H_
