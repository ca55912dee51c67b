#include "experiments/report/markdown.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace crossover::experiments {

std::string EscapeMarkdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '\n':
      case '\r':
        escaped += ' ';
        break;
      case '|':
      case '*':
      case '_':
      case '`':
      case '[':
      case ']':
      case '\\':
      case '#':
        escaped += '\\';
        escaped += c;
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string MarkdownCode(const std::string& text) {
  // A fence longer than any run of backticks in the text.
  size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const bool ends_line = !text.empty() && text.back() == '\n';
  return absl::StrCat(fence, "\n", text, ends_line ? "" : "\n", fence, "\n\n");
}

void AppendMarkdown(const Table& table, std::string& out) {
  absl::StrAppend(&out, "### ", EscapeMarkdown(table.title), "\n\n");
  if (!table.note.empty()) absl::StrAppend(&out, EscapeMarkdown(table.note), "\n\n");
  for (const Heading& heading : table.headings)
    absl::StrAppend(&out, "| ", EscapeMarkdown(heading.text), " ");
  absl::StrAppend(&out, "|\n");
  for (size_t i = 0; i < table.headings.size(); ++i)
    absl::StrAppend(&out, i < table.text_columns ? "|---" : "|---:");
  absl::StrAppend(&out, "|\n");
  for (const std::vector<std::string>& row : table.rows) {
    for (const std::string& cell : row) absl::StrAppend(&out, "| ", EscapeMarkdown(cell), " ");
    absl::StrAppend(&out, "|\n");
  }
  absl::StrAppend(&out, "\n");
}

}  // namespace crossover::experiments
