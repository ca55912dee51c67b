#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/results/format.h"

namespace crossover::experiments {

std::string BytesSection(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  if (strategies.empty()) return "";
  const double model_bytes = static_cast<double>(strategies[0]->runs[0]->model_bytes);
  return absl::StrCat(
      Note(absl::StrCat("Of a mean worker in a step at whose end values were exchanged; the model "
                        "has ",
                        FormatBytes(model_bytes),
                        " (M). All servers together send and receive N times that a step.")),
      StrategyTable(strategies,
                    {"synchronisations", "bytes_formula_per_step", "bytes_sent_per_step",
                     "bytes_received_per_step", "sent_over_formula", "wire_bytes_sent_per_step",
                     "wire_bytes_received_per_step"}));
}

}  // namespace crossover::experiments
