#include "experiments/report/html/html_axis.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/html/html_element.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// The next larger of 1, 2 or 5 times a power of ten, for about `ticks` steps to `range`.
double TickStep(double range, int ticks) {
  const double rough = range / ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string TickText(double value) {
  if (value == 0) return "0";
  if (std::abs(value) >= 1000) return FormatCount(value);
  return absl::StrFormat("%g", value);
}

}  // namespace

std::string Percent(double part) {
  std::string text = absl::StrFormat("%.2f", 100 * part);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + "%";
}

double Drawable(double value) { return std::isfinite(value) ? std::max(0.0, value) : 0; }

Axis MakeAxis(double low, double high, int ticks) {
  if (!std::isfinite(low) || !std::isfinite(high)) low = 0, high = 1;
  if (high - low < 1e-9 * std::max(1.0, std::abs(high))) high = low + 1;
  Axis axis{low, high, {}};
  const double step = TickStep(high - low, ticks);
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    axis.ticks.push_back(i * step + 0.0);  // never -0
  }
  return axis;
}

std::string Rect(double start, double length, double top, double height, const std::string& fill,
                 const std::string& title, const std::string& attributes) {
  return absl::StrCat("<rect x=\"", Percent(start), "\" width=\"", Percent(length), "\" y=\"", top,
                      "\" height=\"", height, "\" fill=\"", fill, "\"", attributes, "><title>",
                      EscapeHtml(title), "</title></rect>");
}

std::string BarRow(const std::string& name, const std::string& drawing, const std::string& value) {
  return absl::StrCat("<div class=\"row\"><div class=\"name\">", name, "</div><div class=\"bar\">",
                      drawing, "</div><div class=\"value\">", value, "</div></div>\n");
}

std::string BarChart(const Axis& axis, const std::string& unit, const std::string& rows) {
  std::string ticks;
  for (const double tick : axis.ticks) {
    const bool at_end = axis.At(tick) > .94;
    absl::StrAppend(&ticks, at_end ? "<span class=\"end\"" : "<span",
                    " style=\"left:", Percent(axis.At(tick)), "\">", TickText(tick), "</span>");
  }
  return absl::StrCat("<div class=\"bars\">", rows,
                      "<div class=\"row\"><div class=\"name\"></div><div class=\"scale\">", ticks,
                      "</div><div class=\"value unit\">", EscapeHtml(unit), "</div></div></div>\n");
}

}  // namespace crossover::experiments
