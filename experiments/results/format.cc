#include "experiments/results/format.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace crossover::experiments {
namespace {

std::string GroupThousands(double value) {
  const std::string digits = absl::StrFormat("%.0f", std::abs(value));
  std::string grouped = value < 0 ? "-" : "";
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

}  // namespace

std::string FormatNumber(double value) {
  if (!std::isfinite(value)) return "n/a";
  const double size = std::abs(value);
  if (size >= 99.95) return GroupThousands(value);
  if (size >= 9.995) return absl::StrFormat("%.1f", value);
  if (size >= 0.9995) return absl::StrFormat("%.2f", value);
  if (size >= 0.09995) return absl::StrFormat("%.3f", value);
  if (size < 0.00005) return "0";
  return absl::StrFormat("%.4f", value);
}

std::string FormatCount(double value) {
  if (!std::isfinite(value)) return "n/a";
  if (value == std::round(value)) return GroupThousands(value);
  return absl::StrFormat("%.1f", value);
}

std::string FormatBytes(double bytes) {
  if (!std::isfinite(bytes)) return "n/a";
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (std::abs(bytes) >= 999.5 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  return absl::StrCat(FormatNumber(bytes), " ", units[unit]);
}

std::string FormatPercent(double fraction) {
  return std::isfinite(fraction) ? absl::StrFormat("%.1f%%", 100 * fraction) : "n/a";
}

std::string FormatAccuracy(double fraction) {
  return std::isfinite(fraction) ? absl::StrFormat("%.2f%%", 100 * fraction) : "n/a";
}

std::string FormatSeconds(double seconds) {
  if (!std::isfinite(seconds)) return "n/a";
  const double size = std::abs(seconds);
  // Adding zero leaves no "-0".
  if (size < 0.9995e-3) return absl::StrFormat("%.0f us", std::round(seconds * 1e6) + 0.0);
  if (size < 1) return absl::StrFormat("%.1f ms", seconds * 1e3);
  return size < 120 ? absl::StrFormat("%.1f s", seconds)
                    : absl::StrFormat("%.0f min", seconds / 60);
}

std::string FormatFigure(const StrategySummary& strategy, const Figure& figure,
                         NumberFormat format) {
  const std::optional<FigureSummary> summary = Summarize(strategy, figure);
  if (!summary.has_value()) return "n/a";
  std::string text = format(summary->median);
  const std::string low = format(summary->spread.low), high = format(summary->spread.high);
  if (low != text || high != text) absl::StrAppend(&text, " (", low, " to ", high, ")");
  const size_t runs = strategy.runs.size();
  if (summary->count < static_cast<int>(runs)) {
    absl::StrAppend(&text, " [", summary->count, " of ", runs, "]");
  }
  return text;
}

std::string DescribeSpread(int repetitions) {
  if (repetitions <= 1) return "1 repetition";
  const std::string of = absl::StrCat(" of ", repetitions, " repetitions");
  if (repetitions < kBootstrapRepetitions) return absl::StrCat("range", of);
  return absl::StrCat("bootstrap 95% interval", of, " (", FormatCount(kBootstrapResamples),
                      " resamples, seed ", kBootstrapSeed, ")");
}

}  // namespace crossover::experiments
