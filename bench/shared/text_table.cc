#include "bench/shared/text_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace crossover::bench {

std::string Aligned(const std::string& title, const std::vector<Row>& rows) {
  if (rows.size() < 2) return "";
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = absl::StrCat("\n", title, "\n");
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, "  ", i == 0 ? row[i] + blanks : blanks + row[i]);
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string Figure(double value) {
  if (value == 0 || !std::isfinite(value)) return absl::StrFormat("%g", value);
  const int digits =
      std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 6);
  return absl::StrFormat("%.*f", digits, value);
}

}  // namespace crossover::bench
