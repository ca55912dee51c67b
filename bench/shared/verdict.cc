#include "bench/shared/verdict.h"

namespace crossover::bench {

std::string VerdictText(const std::string& name, const std::string& says,
                        const std::vector<Verdict>& verdicts) {
  std::string text = absl::StrCat("\n", name, ": ", says, "\n");
  for (const Verdict& verdict : verdicts) {
    absl::StrAppend(&text, verdict.reached ? "  reached  " : "  MISSED   ", verdict.what, ": ",
                    verdict.found, "\n");
  }
  return text;
}

void NoteMissed(const std::string& name, const std::vector<Verdict>& verdicts,
                std::string& missed) {
  for (const Verdict& verdict : verdicts) {
    if (!verdict.reached) {
      absl::StrAppend(&missed, missed.empty() ? "" : "; ", name, " ", verdict.what);
    }
  }
}

absl::Status MissedError(const std::string& missed) {
  return missed.empty() ? absl::OkStatus()
                        : absl::FailedPreconditionError(absl::StrCat("missed: ", missed));
}

}  // namespace crossover::bench
