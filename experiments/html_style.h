// How strategies and phases look in report.html, and the page's style sheet. Pure.
#ifndef CROSSOVER_EXPERIMENTS_HTML_STYLE_H_
#define CROSSOVER_EXPERIMENTS_HTML_STYLE_H_

#include <string>

namespace crossover::experiments {

struct StrategyLook {
  const char* color;
  const char* dash;    // stroke-dasharray
  const char* marker;  // id of a symbol
};

// A strategy looks the same in every chart and report. Unknown names share one look.
StrategyLook LookOf(const std::string& strategy);

// A phase of a step or a kind of span.
const char* PhaseColor(const std::string& phase);

extern const char kStyleSheet[];

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HTML_STYLE_H_
