// Tables for a terminal. Pure.
#ifndef CROSSOVER_BENCH_SHARED_TEXT_TABLE_H_
#define CROSSOVER_BENCH_SHARED_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace crossover::bench {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the first is on the left, the others on the right. The
// first row is the heads; "" without another.
std::string Aligned(const std::string& title, const std::vector<Row>& rows);

// Three significant digits, whole numbers from 100 on.
std::string Figure(double value);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_TEXT_TABLE_H_
