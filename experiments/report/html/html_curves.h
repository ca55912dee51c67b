// The data behind the curves of report.html, and their static drawings. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_CURVES_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_CURVES_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/results/summary.h"

namespace crossover::experiments {

enum class CurveOf { kLoss, kAccuracy };
enum class CurveAgainst { kTime, kSamples, kBytes };

// One run's curve.
struct Curve {
  const RunResult* run = nullptr;
  bool typical = false;
  std::vector<std::pair<double, double>> points;  // x, y; finite
};

// Of every repetition, strategies in the study's order. Against bytes those that send none are
// left out.
std::vector<Curve> CurvesOf(const Study& study, CurveOf what, CurveAgainst against);

// Payload that all workers sent in the whole run, for each sample of it: the estimate that
// bytes_to_target uses. Empty if the run sent nothing or has no curve.
std::optional<double> BytesPerSample(const RunResult& run);

// Axes, lines and markers as HTML with inline SVG; "" if there is nothing to draw.
std::string CurveChart(const Study& study, CurveOf what, CurveAgainst against);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_CURVES_H_
