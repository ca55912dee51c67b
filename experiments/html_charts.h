// The drawings of report.html, as HTML with inline SVG: no scripts, nothing fetched.
// Positions are percentages, so drawings fit any width while their text keeps its size.
// Strategies differ by colour (Okabe and Ito's palette for colour-blind readers), by
// dash and by marker. Pure; every text is escaped.
#ifndef CROSSOVER_EXPERIMENTS_HTML_CHARTS_H_
#define CROSSOVER_EXPERIMENTS_HTML_CHARTS_H_

#include <string>

#include "experiments/summary.h"

namespace crossover::experiments {

// Safe between tags and in quoted attributes.
std::string EscapeHtml(const std::string& text);

// Shapes that the charts refer to; once in a page, before them.
std::string ChartSymbols();

// Samples/s of each strategy from zero, with the spread as a whisker.
std::string ThroughputChart(const Study& study);

// The mean step of each strategy's typical run, taken apart.
std::string BreakdownChart(const Study& study);

enum class CurveOf { kLoss, kAccuracy };
enum class CurveAgainst { kTime, kSamples };
// Every repetition is drawn; the typical run of a strategy stands out.
std::string CurveChart(const Study& study, CurveOf what, CurveAgainst against);

// One step of all ranks of each strategy's typical run.
std::string StepPictures(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HTML_CHARTS_H_
