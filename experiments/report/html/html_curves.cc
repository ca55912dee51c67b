#include "experiments/report/html/html_curves.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_style.h"

namespace crossover::experiments {
namespace {

// The drawing's own units: half a pixel or less.
constexpr double kWidth = 2000, kHeight = 1000;

std::string Line(const Curve& curve, const Axis& x, const Axis& y) {
  const StrategyLook& look = LookOf(curve.run->strategy);
  std::string points;
  for (const auto& [px, py] : curve.points) {
    absl::StrAppend(&points,
                    absl::StrFormat("%.0f,%.0f ", kWidth * x.At(px), kHeight * (1 - y.At(py))));
  }
  return absl::StrFormat(
      "<polyline class=\"%s\" points=\"%s\" stroke=\"%s\" stroke-dasharray=\"%s\"/>",
      curve.typical ? "typical" : "other", points, look.color, look.dash);
}

// Every snapshot of an accuracy has one; of a loss only so many that lines can be told apart
// without their colour.
std::string Markers(const Curve& curve, CurveOf what, const Axis& x, const Axis& y) {
  if (what == CurveOf::kLoss && !curve.typical) return "";
  const StrategyLook& look = LookOf(curve.run->strategy);
  const size_t every =
      what == CurveOf::kAccuracy ? 1 : std::max<size_t>(curve.points.size() / 7, 1);
  std::string out;
  for (size_t i = every / 2; i < curve.points.size(); i += every) {
    absl::StrAppend(&out, "<use href=\"#", look.marker, "\" x=\"",
                    Percent(x.At(curve.points[i].first)), "\" y=\"",
                    Percent(1 - y.At(curve.points[i].second)), "\" fill=\"", look.color,
                    "\" stroke=\"", look.color, curve.typical ? "\"/>" : "\" opacity=\".4\"/>");
  }
  return out;
}

std::string YTick(double value, CurveOf what) {
  return what == CurveOf::kAccuracy ? absl::StrFormat("%g%%", std::round(1e4 * value) / 100)
                                    : absl::StrFormat("%g", std::round(1e6 * value) / 1e6);
}

std::string XTick(double value, CurveAgainst against) {
  if (against == CurveAgainst::kTime || value < 1000) return absl::StrFormat("%g", value);
  const bool is_bytes = against == CurveAgainst::kBytes;
  const char* units[] = {"", is_bytes ? "kB" : "k", is_bytes ? "MB" : "M", is_bytes ? "GB" : "G",
                         is_bytes ? "TB" : "T"};
  int unit = 0;
  while (value >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  return absl::StrFormat("%g %s", value, units[unit]);
}

const char* NameOf(CurveOf what) {
  return what == CurveOf::kLoss ? "training loss" : "test accuracy";
}

const char* NameOf(CurveAgainst against) {
  switch (against) {
    case CurveAgainst::kTime:
      return "training time, s";
    case CurveAgainst::kSamples:
      return "samples, all workers";
    case CurveAgainst::kBytes:
      return "payload sent by all workers";
  }
  return "";
}

std::string Plot(const Axis& x, const Axis& y, CurveOf what, CurveAgainst against,
                 const std::string& lines, const std::string& markers) {
  std::string labels, grid, below;
  for (const double tick : y.ticks) {
    const std::string at = Percent(1 - y.At(tick));
    absl::StrAppend(&labels, "<span style=\"top:", at, "\">", YTick(tick, what), "</span>");
    absl::StrAppend(&grid, "<line x1=\"0\" x2=\"100%\" y1=\"", at, "\" y2=\"", at, "\"/>");
  }
  for (const double tick : x.ticks) {
    absl::StrAppend(&below, "<span style=\"left:", Percent(x.At(tick)), "\">", XTick(tick, against),
                    "</span>");
  }
  return absl::StrCat("<div class=\"plot\"><div class=\"y\">", labels,
                      "</div><svg width=\"100%\" height=\"260\" role=\"img\" aria-label=\"",
                      NameOf(what), " against ", NameOf(against), "\"><g class=\"grid\">", grid,
                      "</g><svg width=\"100%\" height=\"100%\" viewBox=\"0 0 2000 1000\" "
                      "preserveAspectRatio=\"none\">",
                      lines, "</svg>", markers, "</svg><div class=\"x\">", below, "<em>",
                      NameOf(against), "</em></div></div>\n");
}

}  // namespace

std::optional<double> BytesPerSample(const RunResult& run) {
  const double bytes = run.bytes_sent_per_step * static_cast<double>(run.synchronisations) *
                       static_cast<double>(run.workers);
  double samples = 0;
  if (!run.loss_curve.empty()) samples = static_cast<double>(run.loss_curve.back().samples);
  if (!run.accuracy_curve.empty()) {
    samples = std::max(samples, static_cast<double>(run.accuracy_curve.back().samples));
  }
  if (!(bytes > 0) || samples <= 0) return std::nullopt;
  return bytes / samples;
}

std::vector<Curve> CurvesOf(const Study& study, CurveOf what, CurveAgainst against) {
  std::vector<Curve> curves;
  for (const StrategySummary& strategy : study.strategies) {
    for (const RunResult* run : strategy.runs) {
      const std::optional<double> bytes = BytesPerSample(*run);
      if (against == CurveAgainst::kBytes && !bytes.has_value()) continue;
      Curve curve{run, run == TypicalRun(strategy), {}};
      const auto add = [&](const auto& point, double y) {
        const double samples = static_cast<double>(point.samples);
        const double x = against == CurveAgainst::kTime      ? point.time_s
                         : against == CurveAgainst::kSamples ? samples
                                                             : samples * *bytes;
        if (std::isfinite(x) && std::isfinite(y)) curve.points.emplace_back(x, y);
      };
      if (what == CurveOf::kLoss) {
        for (const LossPoint& point : run->loss_curve) add(point, point.loss);
      } else {
        for (const AccuracyPoint& point : run->accuracy_curve) add(point, point.accuracy);
      }
      if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
  }
  return curves;
}

std::string CurveChart(const Study& study, CurveOf what, CurveAgainst against) {
  std::vector<Curve> curves = CurvesOf(study, what, against);
  if (curves.empty()) return "";
  // Those that stand out are drawn last, on top.
  std::stable_partition(curves.begin(), curves.end(), [](const Curve& c) { return !c.typical; });
  double x_high = 0, y_low = INFINITY, y_high = -INFINITY;
  for (const Curve& curve : curves) {
    for (const auto& [px, py] : curve.points) {
      x_high = std::max(x_high, px);
      y_low = std::min(y_low, py);
      y_high = std::max(y_high, py);
    }
  }
  // Markers are not to be cut at the edge. Accuracies lie close together: their axis starts
  // where they do, and the caption says so.
  const double margin = .03 * (y_high - y_low);
  const Axis x = MakeAxis(0, x_high, 5);
  const Axis y =
      MakeAxis(what == CurveOf::kLoss ? std::min(0.0, y_low) : y_low - margin, y_high + margin, 5);
  std::string lines, markers;
  for (const Curve& curve : curves) {
    absl::StrAppend(&lines, Line(curve, x, y));
    absl::StrAppend(&markers, Markers(curve, what, x, y));
  }
  return Plot(x, y, what, against, lines, markers);
}

}  // namespace crossover::experiments
