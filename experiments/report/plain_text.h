// Pieces of reports for the terminal. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_PLAIN_TEXT_H_
#define CROSSOVER_EXPERIMENTS_REPORT_PLAIN_TEXT_H_

#include <string>

#include "experiments/report/report_tables.h"

namespace crossover::experiments {

// Control characters become blanks, so that texts from runs cannot drive the terminal.
std::string Printable(std::string text);

// Words on lines of at most 100 columns behind `first`, each line after the first indented.
void AppendWrapped(const std::string& first, const std::string& text, std::string& out);

// Headings and rows of the table in columns as wide as their widest cell.
void AppendColumns(const Table& table, std::string& out);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_PLAIN_TEXT_H_
