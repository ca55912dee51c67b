#include "ps/status_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace crossover::ps {
namespace {

constexpr char kClear[] = "\x1b[2J";
constexpr char kHome[] = "\x1b[H";
constexpr char kClearLine[] = "\x1b[K";  // from here on, as the next
constexpr char kClearBelow[] = "\x1b[J";

int TerminalRows() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

}  // namespace

StatusScreen::StatusScreen() : terminal_(isatty(STDOUT_FILENO) == 1) {}

void StatusScreen::Show(const std::string& text) {
  const std::string shown =
      terminal_ ? absl::StrCat(shown_ ? "" : kClear, InPlace(FitRows(text, TerminalRows())))
                : absl::StrCat(shown_ ? "\n" : "", text);
  shown_ = true;
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

std::string FitRows(const std::string& text, int rows) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  // The cursor stands in a row of its own.
  if (rows <= 0 || lines.size() < static_cast<size_t>(rows)) return text;
  const size_t kept = static_cast<size_t>(std::max(rows, 2)) - 2;
  const size_t left_out = lines.size() - kept;
  lines.resize(kept);
  lines.push_back(absl::StrCat("(", left_out, left_out == 1 ? " more line" : " more lines", ")"));
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

std::string InPlace(const std::string& text) {
  return absl::StrCat(kHome, absl::StrReplaceAll(text, {{"\n", absl::StrCat(kClearLine, "\n")}}),
                      kClearBelow);
}

}  // namespace crossover::ps
