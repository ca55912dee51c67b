// The reports of a results folder. Blocks for the length of reading and writing files.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_REPORT_FOLDER_H_
#define CROSSOVER_EXPERIMENTS_REPORT_REPORT_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/results/result.h"

namespace crossover::experiments {

// report.md and report.html of these results, into the folder; replaces those that are there.
absl::Status WriteReports(const std::string& directory, const std::vector<RunResult>& results);

// Makes the reports again from the folder's results.jsonl alone, without running anything, and
// returns its results. Errors name the file, and the line that cannot be read.
absl::StatusOr<std::vector<RunResult>> RemakeReports(const std::string& directory);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_REPORT_FOLDER_H_
