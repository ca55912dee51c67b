// Pieces of Markdown pages. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_MARKDOWN_H_
#define CROSSOVER_EXPERIMENTS_REPORT_MARKDOWN_H_

#include <string>

#include "experiments/report/report_tables.h"

namespace crossover::experiments {

// Text that cannot start a tag, break out of a table's cell or become markup.
std::string EscapeMarkdown(const std::string& text);

// The text as it stands, as a block of code.
std::string MarkdownCode(const std::string& text);

// Title, note and rows; the first column is text, the others figures.
void AppendMarkdown(const Table& table, std::string& out);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_MARKDOWN_H_
