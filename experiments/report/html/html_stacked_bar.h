// The parts of a duration side by side, from zero, each with its figure written in it where
// there is room. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STACKED_BAR_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STACKED_BAR_H_

#include <string>
#include <utility>
#include <vector>

namespace crossover::experiments {

struct BarSegment {
  std::string name;
  std::string phase;  // PhaseColor
  double ms = 0;
  std::string attributes;  // data-* of the figure; may be empty
};

// An SVG of the given height; `longest_ms` is its whole width, which is `narrowest` pixels or
// more. What is negative or not finite has no length.
std::string StackedBar(const std::vector<BarSegment>& segments, double longest_ms, int height,
                       double narrowest = 330);

// Swatches with (text, phase).
std::string PhaseLegend(const std::vector<std::pair<std::string, std::string>>& entries);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STACKED_BAR_H_
