#include "experiments/report/plain_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace crossover::experiments {
namespace {

constexpr size_t kColumns = 100;

}  // namespace

std::string Printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

void AppendWrapped(const std::string& first, const std::string& text, std::string& out) {
  const std::string indent(first.size(), ' ');
  std::string line = first;
  bool line_has_word = false;
  const auto flush = [&] {
    absl::StrAppend(&out, line, "\n");
    line = indent;
    line_has_word = false;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (line_has_word && line.size() + 1 + word.size() > kColumns) flush();
    while (line.size() + word.size() > kColumns) {
      const size_t fits = kColumns - line.size();
      line += word.substr(0, fits);
      word.erase(0, fits);
      flush();
    }
    absl::StrAppend(&line, line_has_word ? " " : "", word);
    line_has_word = true;
  }
  flush();
}

void AppendColumns(const Table& table, std::string& out) {
  std::vector<size_t> widths;
  for (const Heading& heading : table.headings) widths.push_back(heading.text.size());
  for (const std::vector<std::string>& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto append = [&](const auto& text_of) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = Printable(text_of(i));
      const std::string pad(widths[i] - cell.size(), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", i < table.text_columns ? cell + pad : pad + cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  };
  append([&](size_t i) { return table.headings[i].text; });
  for (const std::vector<std::string>& row : table.rows) append([&](size_t i) { return row[i]; });
}

}  // namespace crossover::experiments
