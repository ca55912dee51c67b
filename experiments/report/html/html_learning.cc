#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/results/format.h"

namespace crossover::experiments {

std::string LearningSection(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  // An emulated model learns nothing.
  const bool learns =
      std::any_of(strategies.begin(), strategies.end(),
                  [](const StrategySummary* s) { return Summarize(*s, TestAccuracy).has_value(); });
  if (!learns) return "";
  return absl::StrCat(
      Note(absl::StrCat("The target is a test accuracy of ",
                        FormatAccuracy(strategies[0]->runs[0]->target_accuracy),
                        ". \"n/a\": not reached, or not evaluated; [2 of 3]: in so many "
                        "repetitions. ",
                        strategies[0]->runs[0]->tuning.has_value()
                            ? "Each strategy has the learning rate that its search found."
                            : "Strategies that share one learning rate are not each at their "
                              "best; the effective rate shows how far they are apart.")),
      StrategyTable(strategies,
                    {"test_accuracy", "test_loss", "time_to_target_s", "bytes_to_target",
                     "updates_per_global_batch", "effective_learning_rate"}));
}

}  // namespace crossover::experiments
