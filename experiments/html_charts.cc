#include "experiments/html_charts.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/format.h"
#include "experiments/html_style.h"

namespace crossover::experiments {
namespace {

std::string Percent(double part) { return absl::StrFormat("%.3f%%", 100 * part); }

// A length that a chart can draw.
double Drawable(double value) { return std::isfinite(value) ? std::max(0.0, value) : 0; }

// The next larger of 1, 2 or 5 times a power of ten, for about `ticks` steps to `range`.
double TickStep(double range, int ticks) {
  const double rough = range / ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

// An axis from `low` to `high`, both multiples of `step`.
struct Axis {
  double low = 0;
  double high = 1;
  double step = 1;
  double At(double value) const { return (value - low) / (high - low); }
};

Axis MakeAxis(double low, double high, int ticks) {
  if (!std::isfinite(low) || !std::isfinite(high)) low = 0, high = 1;
  if (high - low < 1e-9 * std::max(1.0, std::abs(high))) high = low + 1;
  Axis axis;
  axis.step = TickStep(high - low, ticks);
  axis.low = std::floor(low / axis.step + 1e-9) * axis.step;
  axis.high = std::ceil(high / axis.step - 1e-9) * axis.step;
  return axis;
}

std::string Swatch(const std::string& fill) {
  return absl::StrCat(
      "<svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect width=\"14\" "
      "height=\"14\" fill=\"",
      fill, "\"/></svg>");
}

std::string Rect(double start, double length, int top, int height, const std::string& fill,
                 const std::string& title) {
  return absl::StrCat("<rect x=\"", Percent(start), "\" width=\"", Percent(length), "\" y=\"", top,
                      "\" height=\"", height, "\" fill=\"", fill, "\"><title>", EscapeHtml(title),
                      "</title></rect>");
}

struct Segment {
  const char* name;
  const char* phase;
  double ms;
};

std::vector<Segment> SegmentsOf(const Breakdown& b) {
  return {{"data", "data", Drawable(b.data_ms)},
          {"compute", "compute", Drawable(b.compute_ms)},
          {"exposed transfer", "transfer", Drawable(b.exposed_transfer_ms)},
          {"exposed wait", "wait", Drawable(b.exposed_wait_ms)},
          {"apply", "apply", Drawable(b.apply_ms)},
          {"not accounted for", "other", Drawable(b.other_ms)}};
}

std::string PhaseLegend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& [text, phase] : entries) {
    absl::StrAppend(&out, "<li>", Swatch(PhaseColor(phase)), EscapeHtml(text), "</li>");
  }
  return out + "</ul>";
}

std::string BreakdownBar(const RunResult& run, double longest_ms) {
  std::string bar = "<svg width=\"100%\" height=\"34\" aria-hidden=\"true\">";
  double at_ms = 0, compute_end_ms = 0;
  for (const Segment& segment : SegmentsOf(run.breakdown)) {
    absl::StrAppend(
        &bar, Rect(at_ms / longest_ms, segment.ms / longest_ms, 0, 22, PhaseColor(segment.phase),
                   absl::StrCat(segment.name, ": ", FormatNumber(segment.ms), " ms, ",
                                FormatPercent(segment.ms / run.step_ms_mean))));
    at_ms += segment.ms;
    if (segment.phase == std::string("compute")) compute_end_ms = at_ms;
  }
  const double hidden_ms = std::min(Drawable(run.hidden_ms), compute_end_ms);
  if (hidden_ms > 0) {
    absl::StrAppend(&bar, Rect((compute_end_ms - hidden_ms) / longest_ms, hidden_ms / longest_ms,
                               24, 6, PhaseColor("transfer"),
                               absl::StrCat("hidden communication: ", FormatNumber(hidden_ms),
                                            " ms beneath compute")));
  }
  return bar + "</svg>";
}

struct Curve {
  StrategyLook look;
  bool typical = false;
  std::vector<std::pair<double, double>> points;  // x, y
};

std::vector<Curve> CurvesOf(const Study& study, CurveOf what, CurveAgainst against) {
  std::vector<Curve> curves;
  const auto add = [&](Curve& curve, const auto& point, double y) {
    const double x =
        against == CurveAgainst::kTime ? point.time_s : static_cast<double>(point.samples);
    if (std::isfinite(x) && std::isfinite(y)) curve.points.emplace_back(x, y);
  };
  for (const StrategySummary& strategy : study.strategies) {
    for (const RunResult* run : strategy.runs) {
      Curve curve{LookOf(strategy.strategy), run == TypicalRun(strategy), {}};
      if (what == CurveOf::kLoss) {
        for (const LossPoint& point : run->loss_curve) add(curve, point, point.loss);
      } else {
        for (const AccuracyPoint& point : run->accuracy_curve) add(curve, point, point.accuracy);
      }
      if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
  }
  // Those that stand out are drawn last, on top.
  std::stable_partition(curves.begin(), curves.end(), [](const Curve& c) { return !c.typical; });
  return curves;
}

std::string DrawCurve(const Curve& curve, const Axis& x, const Axis& y, bool markers) {
  std::string line;
  for (const auto& [px, py] : curve.points) {
    absl::StrAppend(&line, absl::StrFormat("%.1f,%.1f ", 1000 * x.At(px), 1000 * (1 - y.At(py))));
  }
  std::string out = absl::StrFormat(
      "<svg width=\"100%%\" height=\"100%%\" viewBox=\"0 0 1000 1000\" "
      "preserveAspectRatio=\"none\"><polyline points=\"%s\" fill=\"none\" stroke=\"%s\" "
      "stroke-width=\"%s\" stroke-dasharray=\"%s\" opacity=\"%s\" stroke-linejoin=\"round\" "
      "vector-effect=\"non-scaling-stroke\"/></svg>",
      line, curve.look.color, curve.typical ? "2" : "1", curve.look.dash,
      curve.typical ? "1" : "0.35");
  if (!markers) return out;
  for (const auto& [px, py] : curve.points) {
    absl::StrAppend(&out, "<use href=\"#", curve.look.marker, "\" x=\"", Percent(x.At(px)),
                    "\" y=\"", Percent(1 - y.At(py)), "\" fill=\"", curve.look.color,
                    "\" stroke=\"", curve.look.color, "\" opacity=\"", curve.typical ? "1" : "0.35",
                    "\"/>");
  }
  return out;
}

std::string StrategyLegend(const Study& study) {
  std::string out = "<ul class=\"legend\">";
  for (const StrategySummary& strategy : study.strategies) {
    if (strategy.runs.empty()) continue;
    const StrategyLook look = LookOf(strategy.strategy);
    absl::StrAppend(&out,
                    "<li><svg width=\"34\" height=\"12\" aria-hidden=\"true\"><line x1=\"0\" "
                    "y1=\"6\" x2=\"34\" y2=\"6\" stroke-width=\"2\" stroke=\"",
                    look.color, "\" stroke-dasharray=\"", look.dash, "\"/><use href=\"#",
                    look.marker, "\" x=\"17\" y=\"6\" fill=\"", look.color, "\" stroke=\"",
                    look.color, "\"/></svg>", EscapeHtml(strategy.strategy), "</li>");
  }
  return out + "</ul>";
}

std::string WriteTick(double value, CurveOf what) {
  if (what == CurveOf::kAccuracy) return absl::StrFormat("%g%%", std::round(1e4 * value) / 100);
  return absl::StrFormat("%g", std::round(1e6 * value) / 1e6);
}

std::string WriteX(double value, CurveAgainst against) {
  if (against == CurveAgainst::kTime || value < 1000) return absl::StrFormat("%g", value);
  if (value < 1e6) return absl::StrFormat("%gk", value / 1e3);
  return absl::StrFormat("%gM", value / 1e6);
}

std::string DrawAxes(const Axis& x, const Axis& y, CurveOf what, CurveAgainst against,
                     const std::string& drawing) {
  std::string labels, grid, below;
  for (double v = y.low; v <= y.high + y.step / 2; v += y.step) {
    const std::string at = Percent(1 - y.At(v));
    absl::StrAppend(&labels, "<span style=\"top:", at, "\">", WriteTick(v, what), "</span>");
    absl::StrAppend(&grid, "<line x1=\"0\" x2=\"100%\" y1=\"", at, "\" y2=\"", at,
                    "\" stroke=\"#e3e7eb\"/>");
  }
  for (double v = x.low; v <= x.high + x.step / 2; v += x.step) {
    absl::StrAppend(&below, "<span style=\"left:", Percent(x.At(v)), "\">", WriteX(v, against),
                    "</span>");
  }
  return absl::StrCat("<div class=\"plot\"><div class=\"y\">", labels,
                      "</div><svg width=\"100%\" height=\"240\" role=\"img\" aria-label=\"",
                      what == CurveOf::kLoss ? "training loss" : "test accuracy", " against ",
                      against == CurveAgainst::kTime ? "time" : "samples", "\">", grid,
                      "<line x1=\"0\" x2=\"100%\" y1=\"100%\" y2=\"100%\" stroke=\"#9aa4ae\"/>",
                      drawing, "</svg><div class=\"x\">", below, "<em>",
                      against == CurveAgainst::kTime ? "training time, s" : "samples, all workers",
                      "</em></div></div>");
}

int RowOfKind(const std::string& kind) {
  return kind == "push" || kind == "pull" || kind == "reduce" ? 1 : 0;
}

std::string StepPictureOf(const RunResult& run) {
  const StepPicture& picture = run.step_picture;
  std::string out = absl::StrCat("<h4>", EscapeHtml(run.strategy), "</h4>");
  for (int64_t rank = 0; rank < run.workers; ++rank) {
    absl::StrAppend(
        &out, "<div class=\"lane\"><span>worker ", rank,
        "</span><svg width=\"100%\" height=\"26\" aria-hidden=\"true\"><rect width=\"100%\" "
        "height=\"26\" fill=\"#f5f6f8\"/>");
    for (const PictureSpan& span : picture.spans) {
      if (span.rank != rank || !(span.end_ms > span.start_ms)) continue;
      std::string title =
          absl::StrCat(span.kind, " ", FormatNumber(span.end_ms - span.start_ms), " ms");
      if (span.op >= 0) absl::StrAppend(&title, ", bucket ", span.op);
      absl::StrAppend(&out, Rect(span.start_ms / picture.duration_ms,
                                 (span.end_ms - span.start_ms) / picture.duration_ms,
                                 1 + 13 * RowOfKind(span.kind), 11, PhaseColor(span.kind), title));
    }
    absl::StrAppend(&out, "</svg></div>");
  }
  absl::StrAppend(&out, "<p class=\"note\">Step ", picture.step, " took ",
                  FormatNumber(picture.duration_ms),
                  " ms from the first start to the last end.</p>");
  return out;
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        // HTML knows no other control characters, not even as references.
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return escaped;
}

std::string ChartSymbols() {
  return R"svg(<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"
patternTransform="rotate(45)"><rect width="6" height="6" fill="#fbeecb"/>
<line x1="0" y1="0" x2="0" y2="6" stroke="#b97f00" stroke-width="3"/></pattern>
<circle id="circle" r="3.6"/>
<rect id="square" x="-3.4" y="-3.4" width="6.8" height="6.8"/>
<path id="diamond" d="M0-4.8 4.8 0 0 4.8-4.8 0z"/>
<path id="triangle" d="M0-4.6 4.4 3.4H-4.4z"/>
<path id="cross" d="M-3.6-3.6 3.6 3.6M-3.6 3.6 3.6-3.6" stroke-width="2.2"/>
<path id="star" d="M0-4.4V4.4M-4.4 0H4.4M-3-3 3 3M-3 3 3-3" stroke-width="1.4"/>
</defs></svg>
)svg";
}

std::string ThroughputChart(const Study& study) {
  double largest = 0;
  for (const StrategySummary& strategy : study.strategies) {
    if (const auto summary = Summarize(strategy, Throughput)) {
      largest = std::max({largest, summary->spread.high, summary->median});
    }
  }
  if (largest <= 0) return "";
  const Axis axis = MakeAxis(0, largest, 4);
  std::string out = "<div class=\"bars\">";
  for (const StrategySummary& strategy : study.strategies) {
    const auto summary = Summarize(strategy, Throughput);
    absl::StrAppend(&out, "<div class=\"name\">", EscapeHtml(strategy.strategy), "</div>");
    if (!summary.has_value()) {
      absl::StrAppend(&out, "<div></div><div class=\"value\">failed</div>");
      continue;
    }
    const std::string low = Percent(axis.At(summary->spread.low));
    const std::string high = Percent(axis.At(summary->spread.high));
    const std::string text = FormatFigure(strategy, Throughput, FormatNumber);
    absl::StrAppend(&out, "<svg width=\"100%\" height=\"24\" aria-hidden=\"true\">",
                    Rect(0, axis.At(summary->median), 2, 20, LookOf(strategy.strategy).color,
                         absl::StrCat(text, " samples/s")));
    if (summary->spread.kind != SpreadKind::kSingle) {
      absl::StrAppend(
          &out, "<g stroke=\"#fff\" stroke-width=\"4\"><line x1=\"", low, "\" x2=\"", high,
          "\" y1=\"12\" y2=\"12\"/></g><g stroke=\"#000\" stroke-width=\"1.5\"><line x1=\"", low,
          "\" x2=\"", high, "\" y1=\"12\" y2=\"12\"/>");
      for (const std::string& end : {low, high}) {
        absl::StrAppend(&out, "<line x1=\"", end, "\" x2=\"", end, "\" y1=\"7\" y2=\"17\"/>");
      }
      absl::StrAppend(&out, "</g>");
    }
    absl::StrAppend(&out, "</svg><div class=\"value\">", EscapeHtml(text), "</div>");
  }
  absl::StrAppend(&out, "<div class=\"scale\"><span>0</span><span>", FormatNumber(axis.high),
                  " samples/s</span></div></div>");
  return out;
}

std::string BreakdownChart(const Study& study) {
  double longest_ms = 0;
  for (const StrategySummary& strategy : study.strategies) {
    if (const RunResult* run = TypicalRun(strategy)) {
      double total_ms = 0;
      for (const Segment& segment : SegmentsOf(run->breakdown)) total_ms += segment.ms;
      longest_ms = std::max(longest_ms, total_ms);
    }
  }
  if (longest_ms <= 0) return "";
  const Axis axis = MakeAxis(0, longest_ms, 4);
  std::string out = PhaseLegend({{"data", "data"},
                                 {"compute", "compute"},
                                 {"exposed transfer", "transfer"},
                                 {"exposed wait", "wait"},
                                 {"apply", "apply"},
                                 {"not accounted for", "other"},
                                 {"thin line: hidden communication", "transfer"}});
  absl::StrAppend(&out, "<div class=\"bars\">");
  for (const StrategySummary& strategy : study.strategies) {
    const RunResult* run = TypicalRun(strategy);
    if (run == nullptr) continue;
    absl::StrAppend(&out, "<div class=\"name\">", EscapeHtml(strategy.strategy), "</div>",
                    BreakdownBar(*run, axis.high), "<div class=\"value\">",
                    FormatNumber(run->step_ms_mean), " ms, ",
                    FormatPercent(run->communication_share), " exposed</div>");
  }
  absl::StrAppend(&out, "<div class=\"scale\"><span>0</span><span>", FormatNumber(axis.high),
                  " ms</span></div></div>");
  return out;
}

std::string CurveChart(const Study& study, CurveOf what, CurveAgainst against) {
  const std::vector<Curve> curves = CurvesOf(study, what, against);
  if (curves.empty()) return "";
  double x_high = 0, y_low = INFINITY, y_high = -INFINITY;
  for (const Curve& curve : curves) {
    for (const auto& [px, py] : curve.points) {
      x_high = std::max(x_high, px);
      y_low = std::min(y_low, py);
      y_high = std::max(y_high, py);
    }
  }
  const Axis x = MakeAxis(0, x_high, 7);
  // Accuracies lie close together: their axis starts where they do, and says so.
  const Axis y = MakeAxis(what == CurveOf::kLoss ? std::min(0.0, y_low) : y_low, y_high, 5);
  std::string drawing;
  for (const Curve& curve : curves) {
    absl::StrAppend(&drawing, DrawCurve(curve, x, y, what == CurveOf::kAccuracy));
  }
  return absl::StrCat(StrategyLegend(study), DrawAxes(x, y, what, against, drawing));
}

std::string StepPictures(const Study& study) {
  std::string out;
  for (const StrategySummary& strategy : study.strategies) {
    const RunResult* run = TypicalRun(strategy);
    if (run == nullptr || run->step_picture.step < 0 || !(run->step_picture.duration_ms > 0)) {
      continue;
    }
    absl::StrAppend(&out, StepPictureOf(*run));
  }
  if (out.empty()) return out;
  return absl::StrCat(PhaseLegend({{"data", "data"},
                                   {"compute", "compute"},
                                   {"push or reduce", "push"},
                                   {"pull", "pull"},
                                   {"apply", "apply"}}),
                      out);
}

}  // namespace crossover::experiments
