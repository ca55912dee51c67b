// Numbers as the reports write them: with as many digits as mean something, and
// their unit. Pure.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_FORMAT_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_FORMAT_H_

#include <optional>
#include <string>

#include "experiments/results/summary.h"

namespace crossover::experiments {

// Three significant digits, thousands grouped: "0.0421", "12.3", "49,100"; digits
// before the point are never rounded away from four digits on ("1,234").
std::string FormatNumber(double value);
std::string FormatCount(double value);        // "1,234"; one decimal if it is not whole
std::string FormatBytes(double bytes);        // "814 kB", decimal units
std::string FormatPercent(double fraction);   // "33.1%"
std::string FormatAccuracy(double fraction);  // "88.61%"
std::string FormatSeconds(double seconds);    // "-35 us", "2.0 ms", "61.0 s", "300 min"

// How a figure of a table is written.
using NumberFormat = std::string (*)(double);

// "49,100 (48,700 to 49,600)": median and spread, the spread left out where it does not
// show in these digits; "n/a" if there is no figure; "[2 of 3]" behind it where only
// some repetitions have it.
std::string FormatFigure(const StrategySummary& strategy, const Figure& figure,
                         NumberFormat format);

// "range of 3 repetitions", "bootstrap 95% interval of 6 repetitions (2,000 resamples, seed 1)",
// "1 repetition".
std::string DescribeSpread(int repetitions);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_FORMAT_H_
