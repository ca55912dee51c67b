#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/html/html_curves.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/html/html_style.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

std::string Switch(const char* group, const char* name, const char* value, const char* text,
                   bool checked) {
  return absl::StrCat("<label><input type=\"radio\" class=\"", value, "\" name=\"", group, name,
                      "\" value=\"", value, "\"", checked ? " checked" : "", ">", text, "</label>");
}

struct Against {
  CurveAgainst against;
  const char* id;
  const char* text;
};
constexpr Against kAgainst[] = {{CurveAgainst::kTime, "time", "time"},
                                {CurveAgainst::kSamples, "samples", "samples"},
                                {CurveAgainst::kBytes, "bytes", "bytes"}};

std::string StaticFigures(const Study& study) {
  std::string out;
  for (const CurveOf what : {CurveOf::kLoss, CurveOf::kAccuracy}) {
    const bool is_loss = what == CurveOf::kLoss;
    for (const Against& against : kAgainst) {
      const std::string chart = CurveChart(study, what, against.against);
      if (chart.empty()) continue;
      absl::StrAppend(&out, "<figure class=\"", is_loss ? "loss " : "accuracy ", against.id,
                      "\"><h4>", is_loss ? "Training loss" : "Test accuracy", " against ",
                      against.text, "</h4>\n", chart, "</figure>\n");
    }
  }
  return out;
}

// JSON of numbers in few digits; what is not finite is null. `<` cannot occur.
template <typename Points, typename Value>
std::string Numbers(const Points& points, int digits, Value value) {
  std::string out = "[";
  for (const auto& point : points) {
    const double number = value(point);
    if (out.size() > 1) out += ',';
    out += std::isfinite(number) ? absl::StrFormat("%.*g", digits, number) : "null";
  }
  return out + "]";
}

template <typename Points, typename Value>
std::string CurveJson(const Points& points, int digits, Value value) {
  return absl::StrCat(
      "{\"time\":", Numbers(points, 5, [](const auto& p) { return p.time_s; }), ",\"samples\":",
      Numbers(points, 9, [](const auto& p) { return static_cast<double>(p.samples); }),
      ",\"value\":", Numbers(points, digits, value), "}");
}

// A text of a run in JSON within a script element: nothing in it can end either.
std::string JsonText(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || c == '"' || c == '\\' || c == '<' || c == '&') {
      out += absl::StrFormat("\\u%04x", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string RunJson(const RunResult& run, bool typical) {
  return absl::StrCat(
      "{\"repetition\":", run.repetition, ",\"typical\":", typical ? "true" : "false",
      ",\"bytes_per_sample\":", absl::StrFormat("%.9g", BytesPerSample(run).value_or(0)),
      ",\"loss\":", CurveJson(run.loss_curve, 5, [](const LossPoint& p) { return p.loss; }),
      ",\"accuracy\":",
      CurveJson(run.accuracy_curve, 9, [](const AccuracyPoint& p) { return p.accuracy; }), "}");
}

std::string DataJson(const std::vector<const StrategySummary*>& strategies) {
  std::string out = "[";
  for (const StrategySummary* strategy : strategies) {
    const StrategyLook& look = LookOf(strategy->strategy);
    absl::StrAppend(&out, out.size() > 1 ? ",\n" : "", "{\"name\":", JsonText(strategy->strategy),
                    ",\"color\":\"", look.color, "\",\"dash\":\"", look.dash, "\",\"marker\":\"",
                    look.marker, "\",\"runs\":[");
    const char* between = "";
    for (const RunResult* run : strategy->runs) {
      absl::StrAppend(&out, between, RunJson(*run, run == TypicalRun(*strategy)));
      between = ",\n";
    }
    absl::StrAppend(&out, "]}");
  }
  return out + "]";
}

}  // namespace

std::string CurvesSection(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  const std::string figures = StaticFigures(study);
  if (figures.empty()) return "";
  // Radio buttons of one name are one switch, also across studies: the name tells them apart.
  const std::string group = EscapeHtml(study.title()) + " ";
  std::string legend;
  for (const StrategySummary* strategy : strategies) {
    absl::StrAppend(&legend, "<li", Attribute("data-curve", strategy->strategy), ">",
                    StrategyNameHtml(strategy->strategy), "<output></output></li>");
  }
  return absl::StrCat(
      "<p class=\"note\">", Term("loss_curve"), " and ", Term("accuracy_curve", "test accuracy"),
      " of every repetition; the typical run is the bold line. Every point is drawn and none "
      "smoothed: a point of a loss is the mean over a window of steps of all workers. The axis of "
      "accuracies does not start at zero. Bytes are the payload that all workers had sent by "
      "then; strategies that send none are not in that view.</p>\n<div class=\"curves\">"
      "<div class=\"switches\"><span class=\"switch\">",
      Switch(group.c_str(), "what", "loss", "loss", true),
      Switch(group.c_str(), "what", "accuracy", "accuracy", false),
      "</span><span class=\"switch\">against ",
      Switch(group.c_str(), "against", "time", "time", true),
      Switch(group.c_str(), "against", "samples", "samples", false),
      Switch(group.c_str(), "against", "bytes", "bytes", false),
      "</span></div>\n<ul class=\"legend strategies\">", legend,
      "</ul>\n<div class=\"live\"></div>\n<div class=\"static\">", figures,
      "</div>\n<script type=\"application/json\">", DataJson(strategies), "</script></div>\n");
}

}  // namespace crossover::experiments
