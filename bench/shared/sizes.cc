#include "bench/shared/sizes.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/status.h"

namespace crossover::bench {
namespace {

constexpr int64_t kBytesMax = int64_t{1} << 40;

struct Unit {
  char letter;
  int64_t bytes;
};
constexpr Unit kUnits[] = {{'G', 1 << 30}, {'M', 1 << 20}, {'K', 1 << 10}};

absl::Status Refuse(absl::string_view found, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", found, "' ", why,
                   "; allowed: sizes such as 4K, 16M, 1G or 1000, in a list (4K,1M) or as "
                   "FIRST:LAST:xFACTOR (4K:100M:x4)"));
}

absl::StatusOr<int64_t> ParseSize(absl::string_view text) {
  absl::string_view digits = text;
  int64_t unit_bytes = 1;
  for (const Unit& unit : kUnits) {
    if (!digits.empty() && digits.back() == unit.letter) {
      unit_bytes = unit.bytes;
      digits.remove_suffix(1);
      break;
    }
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(digits, &number) || number < 0) return Refuse(text, "is no size");
  if (number > kBytesMax / unit_bytes) return Refuse(text, "is more than a tebibyte");
  return number * unit_bytes;
}

absl::Status AddRange(absl::string_view text, std::vector<int64_t>& sizes) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() != 3) return Refuse(text, "is no range");
  ASSIGN_OR_RETURN(const int64_t first, ParseSize(parts[0]));
  ASSIGN_OR_RETURN(const int64_t last, ParseSize(parts[1]));
  int64_t factor = 0;
  if (parts[2].size() < 2 || parts[2].front() != 'x' ||
      !absl::SimpleAtoi(parts[2].substr(1), &factor) || factor < 2) {
    return Refuse(text, "has no factor from x2 on");
  }
  if (first < 1 || last < first) return Refuse(text, "does not go upwards from 1");
  for (int64_t size = first; size<last; size = size> last / factor ? last : size * factor) {
    sizes.push_back(size);
  }
  sizes.push_back(last);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ParseSizes(std::string_view text) {
  std::vector<int64_t> sizes;
  for (const absl::string_view item :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    if (absl::StrContains(item, ':')) {
      RETURN_IF_ERROR(AddRange(item, sizes));
      continue;
    }
    ASSIGN_OR_RETURN(const int64_t size, ParseSize(item));
    sizes.push_back(size);
  }
  std::vector<int64_t> sorted = sizes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return Refuse(SizeText(*twice), "stands there twice");
  return sizes;
}

std::string SizeText(int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes > 0 && bytes % unit.bytes == 0) {
      return absl::StrCat(bytes / unit.bytes, std::string(1, unit.letter));
    }
  }
  return absl::StrCat(bytes);
}

std::string SizesText(const std::vector<int64_t>& sizes) {
  return absl::StrJoin(
      sizes, ",", [](std::string* text, int64_t size) { absl::StrAppend(text, SizeText(size)); });
}

}  // namespace crossover::bench
