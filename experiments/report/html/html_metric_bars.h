// A figure of each strategy as a bar from zero, with its spread as a whisker and a dot for
// every repetition. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_METRIC_BARS_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_METRIC_BARS_H_

#include <string>

#include "experiments/report/report_metrics.h"
#include "experiments/results/summary.h"

namespace crossover::experiments {

// "" if no strategy has a figure above zero.
std::string MetricBars(const Study& study, const Metric& metric, const std::string& unit);

// "whisker, range of 3 repetitions; dots, each repetition." for a caption.
std::string DescribeBars(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_METRIC_BARS_H_
