#include "experiments/report/html/html_style.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace crossover::experiments {

namespace {

// Each with a marker of its own, by which its look is known.
constexpr StrategyLook kLooks[] = {
    {"single", "#222222", "none", "circle"},       {"ps_sync", "#0072b2", "7 3", "square"},
    {"ps_ssp", "#56b4e9", "3 3", "diamond"},       {"ps_async", "#d55e00", "9 3 2 3", "triangle"},
    {"ps_backup", "#004c99", "2 4", "frame"},      {"ps_async_dc", "#a33c00", "4 2", "wedge"},
    {"ps_async_scaled", "#c77700", "1 3", "flag"}, {"ps_elastic", "#7d4a9c", "6 2 2 2", "ring"},
    {"ps_groups", "#5c8a00", "8 2 1 2", "bars"},   {"allreduce_ring", "#009e73", "none", "cross"},
    {"local_sgd", "#cc79a7", "5 2", "star"},       {"", "#777777", "1 2", "plus"},  // all others
};

}  // namespace

const StrategyLook& LookOf(const std::string& strategy) {
  for (const StrategyLook& look : kLooks) {
    if (strategy == look.strategy) return look;
  }
  return *(std::end(kLooks) - 1);
}

const char* PhaseColor(const std::string& phase) {
  if (phase == "compute") return "#3f4a56";
  if (phase == "transfer" || phase == "push" || phase == "reduce") return "#e69f00";
  if (phase == "pull") return "#f0e442";
  if (phase == "wait") return "url(#hatch)";
  if (phase == "data") return "#9fd0ee";
  if (phase == "apply") return "#8a5a80";
  return "url(#speckle)";
}

const char* PhaseTextColor(const std::string& phase) {
  return phase == "compute" || phase == "apply" ? "#fff" : "#111";
}

std::string ChartSymbols() {
  std::string out =
      R"svg(<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"
patternTransform="rotate(45)"><rect width="6" height="6" fill="#fdf3d8"/>
<line x1="0" y1="0" x2="0" y2="6" stroke="#b97f00" stroke-width="3"/></pattern>
<pattern id="speckle" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4"
height="4" fill="#e6e6e6"/><circle cx="1" cy="1" r=".7" fill="#8a8a8a"/></pattern>
<circle id="circle" r="3.6"/>
<rect id="square" x="-3.4" y="-3.4" width="6.8" height="6.8"/>
<path id="diamond" d="M0-4.8 4.8 0 0 4.8-4.8 0z"/>
<path id="triangle" d="M0-4.6 4.4 3.4H-4.4z"/>
<path id="cross" d="M-3.6-3.6 3.6 3.6M-3.6 3.6 3.6-3.6" stroke-width="2.2"/>
<path id="star" d="M0-4.4V4.4M-4.4 0H4.4M-3-3 3 3M-3 3 3-3" stroke-width="1.4"/>
<path id="plus" d="M-4 0H4M0-4V4" stroke-width="2.2"/>
<path id="frame" d="M-3.2-3.2H3.2V3.2H-3.2z" fill="none" stroke-width="1.8"/>
<path id="wedge" d="M0 4.6 4.4-3.4H-4.4z"/>
<path id="flag" d="M-3.4 4.4V-4.4L4.4 0z"/>
<circle id="ring" r="3.2" fill="none" stroke-width="1.8"/>
<path id="bars" d="M-2.6-4V4M2.6-4V4" stroke-width="2.2"/>
)svg";
  for (const StrategyLook& look : kLooks) {
    absl::StrAppend(&out, "<g id=\"mark-", look.marker, "\" fill=\"", look.color, "\" stroke=\"",
                    look.color,
                    "\"><line x2=\"30\" y1=\"6\" y2=\"6\" stroke-width=\"2\" "
                    "stroke-dasharray=\"",
                    look.dash, "\"/><use href=\"#", look.marker, "\" x=\"15\" y=\"6\"/></g>\n");
  }
  return out + "</defs></svg>\n";
}

}  // namespace crossover::experiments
