// The tables of a study, as text: what report.md and report.html both show. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_REPORT_TABLES_H_
#define CROSSOVER_EXPERIMENTS_REPORT_REPORT_TABLES_H_

#include <string>
#include <vector>

#include "experiments/results/summary.h"

namespace crossover::experiments {

struct Heading {
  std::string text;
  std::string definition;  // one sentence; docs/METRICS.md has the formula
};

struct Table {
  std::string title;
  std::string note;  // under the title; may be empty
  std::vector<Heading> headings;
  std::vector<std::vector<std::string>> rows;  // as long as headings
  size_t text_columns = 1;                     // the first so many; the others are figures
};

// One row for each strategy: speed, learning, bytes, resources, and where they exist
// staleness and stragglers.
std::vector<Table> StrategyTables(const Study& study);

// One row for each worker and server of each strategy's typical run.
std::vector<Table> ProcessTables(const Study& study);

// "lab: kernel qdiscs, 1gbit, cubic": what the run's messages went over, in a few words.
std::string DescribeNetwork(const RunResult& run);

// Machine, network, build and versions of the study's first run; differences between
// its runs are named.
Table EnvironmentTable(const Study& study);

// The job of the study's first run, and how to run the comparison again; "" if unknown.
std::string ResolvedJob(const Study& study);
std::string RerunCommand(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_REPORT_TABLES_H_
