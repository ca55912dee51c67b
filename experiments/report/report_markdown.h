// report.md: the comparison for reading as text. Pure; escapes what would be taken for
// Markdown or HTML.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_REPORT_MARKDOWN_H_
#define CROSSOVER_EXPERIMENTS_REPORT_REPORT_MARKDOWN_H_

#include <string>
#include <vector>

#include "experiments/results/result.h"

namespace crossover::experiments {

// Of any number of results, failed ones too; of none it says so.
std::string ReportMarkdown(const std::vector<RunResult>& results);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_REPORT_MARKDOWN_H_
