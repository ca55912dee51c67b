// How strategies and phases look in report.html. Strategies differ by colour (Okabe and Ito's
// palette for colour-blind readers), by dash and by marker; phases by lightness and hatching
// as well as colour. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STYLE_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STYLE_H_

#include <string>

namespace crossover::experiments {

struct StrategyLook {
  const char* strategy;
  const char* color;
  const char* dash;    // stroke-dasharray
  const char* marker;  // id of a symbol; "mark-" and it: on a piece of its line
};

// A strategy looks the same in every chart and report. Unknown names share one look.
const StrategyLook& LookOf(const std::string& strategy);

// A phase of a step or a kind of span.
const char* PhaseColor(const std::string& phase);
// For text upon it.
const char* PhaseTextColor(const std::string& phase);

// Markers and hatchings that the charts refer to; once in a page, before them.
std::string ChartSymbols();

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STYLE_H_
