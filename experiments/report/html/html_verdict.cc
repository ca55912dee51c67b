#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_sections.h"
#include "experiments/report/verdict.h"

namespace crossover::experiments {
namespace {

std::string List(const std::vector<std::string>& texts) {
  std::string out = "<ul>\n";
  for (const std::string& text : texts) absl::StrAppend(&out, "<li>", EscapeHtml(text), "</li>\n");
  return out + "</ul>\n";
}

}  // namespace

std::string VerdictSection(const Study& study) {
  const Verdict verdict = MakeVerdict(study);
  std::string out = "<div class=\"verdict\">\n";
  for (const std::string& sentence : verdict.sentences) {
    absl::StrAppend(&out, "<p>", EscapeHtml(sentence), "</p>\n");
  }
  absl::StrAppend(&out, "</div>\n");
  if (!verdict.failures.empty()) {
    absl::StrAppend(&out,
                    "<div class=\"failures\"><strong>Failed runs</strong> (they are in no figure):",
                    List(verdict.failures), "</div>\n");
  }
  if (!verdict.caveats.empty()) {
    absl::StrAppend(&out, "<div class=\"caveats\"><strong>What this does not say</strong>",
                    List(verdict.caveats), "</div>\n");
  }
  return out;
}

}  // namespace crossover::experiments
