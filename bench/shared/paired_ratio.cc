#include "bench/shared/paired_ratio.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/shared/text_table.h"

namespace crossover::bench {

std::optional<PairedRatio> RatioOf(const std::map<int64_t, double>& ours,
                                   const std::map<int64_t, double>& theirs) {
  std::vector<double> ratios;
  for (const auto& [round, value] : ours) {
    const auto other = theirs.find(round);
    if (other == theirs.end() || value <= 0) continue;
    ratios.push_back(other->second / value);
  }
  if (ratios.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  return PairedRatio{.median = experiments::Median(ratios),
                     .spread = experiments::SpreadOf(ratios),
                     .lowest = *low,
                     .highest = *high,
                     .rounds = static_cast<int>(ratios.size())};
}

std::string RatioText(const PairedRatio& ratio) {
  if (ratio.rounds < 2) return Figure(ratio.median);
  return absl::StrCat(Figure(ratio.median), " (", Figure(ratio.spread.low), " to ",
                      Figure(ratio.spread.high), ")");
}

}  // namespace crossover::bench
