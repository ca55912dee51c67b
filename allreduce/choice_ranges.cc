#include "allreduce/choice_ranges.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace crossover::allreduce {
namespace {

constexpr int64_t kValueBytes = 4;
constexpr int64_t kBytesMax = int64_t{1} << 40;

// The largest size from `low` to below `high` with the choice that `low` has; `high` has another.
int64_t LastAlike(const std::function<Algorithm(int64_t)>& choose, int64_t low, int64_t high) {
  const Algorithm algorithm = choose(low);
  while (high - low > kValueBytes) {
    const int64_t middle = low + (high - low) / (2 * kValueBytes) * kValueBytes;
    (choose(middle) == algorithm ? low : high) = middle;
  }
  return low;
}

std::string SizeText(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  int unit = 0;
  while (size >= 1024 && unit < 4) {
    size /= 1024;
    ++unit;
  }
  return absl::StrFormat(unit == 0 ? "%.0f %s" : "%.1f %s", size, kUnits[unit]);
}

}  // namespace

std::vector<ChoiceRange> ChoiceRanges(const std::function<Algorithm(int64_t bytes)>& choose) {
  std::vector<ChoiceRange> ranges;
  int64_t low = kValueBytes;
  while (low < kBytesMax) {
    const int64_t high = 2 * low;
    if (choose(low) != choose(high)) {
      low = LastAlike(choose, low, high);
      ranges.push_back({choose(low), low});
      low += kValueBytes;
    } else {
      low = high;
    }
  }
  ranges.push_back({choose(low), 0});
  return ranges;
}

std::string RangesText(const std::vector<ChoiceRange>& ranges) {
  std::string text;
  for (const ChoiceRange& range : ranges) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", NameOf(range.algorithm));
    if (range.up_to_bytes > 0) absl::StrAppend(&text, " up to ", SizeText(range.up_to_bytes));
  }
  return ranges.size() > 1 ? absl::StrCat(text, " above") : absl::StrCat(text, " for all sizes");
}

CostFit FitOf(const proto::TransportCosts& costs) {
  return {.alpha_us = costs.alpha_us(),
          .message_us = costs.message_us(),
          .beta_us_per_byte = costs.beta_us_per_byte(),
          .gamma_us_per_byte = costs.gamma_us_per_byte()};
}

}  // namespace crossover::allreduce
