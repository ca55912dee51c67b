// What a push-pull test has found: written line by line as it comes, and reported at the end.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_RESULTS_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_RESULTS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "bench/comm/record.h"
#include "bench/ps/push_pull_record.h"
#include "bench/ps/push_pull_series.h"

namespace crossover::bench {

// Belongs to one thread.
class PushPullResults {
 public:
  // `json_path`: file that gets every line; "" for none.
  explicit PushPullResults(std::string json_path) : json_path_(std::move(json_path)) {}

  // Empties the file. Before anything is measured, so that a wrong path costs no time.
  absl::Status Begin() const;
  void Take(const PushPullRecord& record);
  void Take(const Record& record);  // of a limit or of the ring
  const PushPullLines& lines() const { return lines_; }
  // Prints the tables and says what is wrong: a line that could not be written, or that is refused.
  absl::Status Report() const;

 private:
  void Write(const std::string& line);

  const std::string json_path_;
  PushPullLines lines_;
  absl::Status written_;  // the first failure to write
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_RESULTS_H_
