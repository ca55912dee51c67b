#include "experiments/report/interruption.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace crossover::experiments {
namespace {

// Repetitions, from 1, whose runs were not all made in one go.
std::vector<int64_t> SplitRepetitions(const std::vector<const RunResult*>& runs) {
  std::map<int64_t, std::set<std::string>> sessions;
  for (const RunResult* run : runs) sessions[run->repetition].insert(run->resume_time);
  std::vector<int64_t> split;
  for (const auto& [repetition, of] : sessions) {
    if (of.size() > 1) split.push_back(repetition + 1);
  }
  return split;
}

}  // namespace

std::vector<std::string> InterruptionCaveats(const Study& study) {
  const std::vector<const RunResult*> runs = study.all();
  std::vector<std::string> caveats;
  int64_t planned = 0;
  std::map<std::string, std::pair<std::string, std::string>> sessions;  // first and last start
  for (const RunResult* run : runs) {
    planned = std::max(planned, run->planned_runs);
    auto& [first, last] =
        sessions.try_emplace(run->resume_time, run->start_time, run->start_time).first->second;
    first = std::min(first, run->start_time);
    last = std::max(last, run->start_time);
  }
  if (planned > static_cast<int64_t>(runs.size())) {
    caveats.push_back(absl::StrCat(
        runs.size(), " of ", planned, " planned runs have ended, the last begun at ",
        sessions.rbegin()->second.second, ": the comparison is under way or was interrupted."));
  }
  if (sessions.size() < 2) return caveats;
  std::vector<std::string> spans;
  for (const auto& [resumed, span] : sessions) {
    spans.push_back(absl::StrCat("from ", span.first, " to ", span.second));
  }
  std::string text = absl::StrCat("The comparison was interrupted and taken up again: runs began ",
                                  absl::StrJoin(spans, ", then "),
                                  ". The machine may have been faster or slower in between");
  const std::vector<int64_t> split = SplitRepetitions(runs);
  if (split.empty()) {
    absl::StrAppend(&text, "; no repetition was split, so that paired differences do not see it.");
  } else {
    absl::StrAppend(&text, ", and paired differences see it in repetition ",
                    absl::StrJoin(split, ", "), ", which was split.");
  }
  caveats.push_back(text);
  return caveats;
}

}  // namespace crossover::experiments
