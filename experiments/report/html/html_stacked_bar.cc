#include "experiments/report/html/html_stacked_bar.h"

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_style.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// Whether a text fits into so many pixels, a digit being 7 wide: half a number would be a
// wrong one.
bool Fits(const std::string& text, double pixels) {
  return pixels > 7.0 * static_cast<double>(text.size()) + 8;
}

}  // namespace

std::string StackedBar(const std::vector<BarSegment>& segments, double longest_ms, int height,
                       double narrowest) {
  std::string out =
      absl::StrCat("<svg width=\"100%\" height=\"", height, "\" aria-hidden=\"true\">");
  double at_ms = 0;
  for (const BarSegment& segment : segments) {
    const double ms = Drawable(segment.ms);
    const std::string text = FormatNumber(ms);
    absl::StrAppend(&out, "<svg x=\"", Percent(at_ms / longest_ms), "\" width=\"",
                    Percent(ms / longest_ms), "\" height=\"", height, "\"", segment.attributes,
                    "><title>", EscapeHtml(segment.name), ": ", text,
                    " ms</title><rect width=\"100%\" height=\"100%\" fill=\"",
                    PhaseColor(segment.phase), "\"/>");
    // A hatched part is read through a plate.
    if (Fits(text, narrowest * ms / longest_ms)) {
      if (segment.phase == "wait" || segment.phase == "other") {
        absl::StrAppend(&out, "<rect x=\"2\" y=\"3\" width=\"", 7 * text.size() + 4, "\" height=\"",
                        height - 6, "\" fill=\"#fff\" opacity=\".85\"/>");
      }
      absl::StrAppend(&out, "<text x=\"4\" y=\"", height / 2 + 4, "\" fill=\"",
                      PhaseTextColor(segment.phase), "\">", text, "</text>");
    }
    absl::StrAppend(&out, "</svg>");
    at_ms += ms;
  }
  return out + "</svg>";
}

std::string PhaseLegend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& [text, phase] : entries) {
    absl::StrAppend(&out,
                    "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect width=\"14\" "
                    "height=\"14\" fill=\"",
                    PhaseColor(phase), "\"/></svg>", EscapeHtml(text), "</li>");
  }
  return out + "</ul>\n";
}

}  // namespace crossover::experiments
