#include "experiments/results/result.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/results/json_archive.h"
#include "experiments/results/result_fields.h"

namespace crossover::experiments {
namespace {

std::string Inconsistency(const RunResult& result) {
  if (result.strategy.empty()) return "field 'strategy' is empty";
  if (result.workers < 1) return absl::StrCat("field 'workers': found ", result.workers);
  if (result.servers < 0) return absl::StrCat("field 'servers': found ", result.servers);
  return "";
}

}  // namespace

std::string ToJsonLine(const RunResult& result) { return WriteJson(result); }

absl::StatusOr<std::vector<RunResult>> ParseResults(std::string_view jsonl) {
  std::vector<RunResult> results;
  int line_number = 0;
  while (!jsonl.empty()) {
    const std::string_view line = jsonl.substr(0, jsonl.find('\n'));
    const bool has_end = line.size() < jsonl.size();
    jsonl.remove_prefix(std::min(jsonl.size(), line.size() + 1));
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    RunResult result;
    std::string error = ReadJson(line, result);
    if (error == kNotAnObject) {
      absl::StrAppend(&error,
                      has_end ? "; fix: take the line out, and --resume=FOLDER makes its run"
                              : ", but the beginning of one; fix: --resume=FOLDER leaves it out");
    }
    if (error.empty()) error = Inconsistency(result);
    if (!error.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("results line ", line_number, ": ", error));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace crossover::experiments
