// What a communication test has found: written line by line as it comes, and reported at the end.
#ifndef CROSSOVER_BENCH_COMM_RESULTS_H_
#define CROSSOVER_BENCH_COMM_RESULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/comm/record.h"

namespace crossover::bench {

// To standard output, to its end. Errors: it cannot be written.
absl::Status Print(const std::string& text);

// Belongs to one thread.
class Results {
 public:
  // `json_path`: file that gets every line; "" for none.
  explicit Results(std::string json_path);

  // Empties the file. Before anything is measured, so that a wrong path costs no time; `fit_path`
  // as Report has it is only looked at.
  absl::Status Begin(const std::string& fit_path) const;
  // A line that names no host gets this machine's name.
  void Take(const Record& record);
  const std::vector<Record>& records() const { return records_; }
  // Prints the tables, writes the fit (`fit_path`; "" for none) and says what is wrong: a line that
  // CheckRecords refuses, or that could not be written, or a fit of nothing. Then no fit is
  // written.
  absl::Status Report(const std::string& fit_path) const;

 private:
  const std::string json_path_;
  const std::string host_;
  std::vector<Record> records_;
  absl::Status written_;  // the first failure to write
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_RESULTS_H_
