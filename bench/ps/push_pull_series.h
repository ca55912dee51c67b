// The lines of several rounds of ps_test brought together. Pure.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_SERIES_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_SERIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/comm/record.h"
#include "bench/ps/push_pull_record.h"
#include "bench/shared/paired_ratio.h"

namespace crossover::bench {

// What ps_test has found: lines of its own, and comm_test's of limits and of the ring.
struct PushPullLines {
  std::vector<PushPullRecord> ours;
  std::vector<Record> beside;
};

// A row of the table: all rounds of one size in one setup.
struct PushPullSeries {
  PushPullRecord first;  // for what tells rows apart
  std::map<int64_t, PushPullRecord> by_round;
  std::map<int64_t, double> ring_us;  // our ring's times in the same rounds; empty: not measured

  double TimeUs() const;  // medians over the rounds, here and below
  double PushUs() const;
  double LinkGBps() const;
  double BoundUs() const;
  double ServerCpuSPerGB() const;
  double WorkerCpuSPerGB() const;
  double ServerPeakMB() const;  // the largest
  double LeastUs() const;
  double MostUs() const;
  double Fairness() const;  // the smallest
  int64_t Wrong() const;
  double AlgbwGBps() const;  // at the median time: of each worker, each way
  double TotalGBps() const;  // of all workers, each way
  // Time over bound, paired by round; none where there is no bound.
  std::optional<PairedRatio> OverBound() const;
  // The ring's time over ours.
  std::optional<PairedRatio> RingOverOurs() const;
};
// In the order in which they first came.
std::vector<PushPullSeries> SeriesOf(const PushPullLines& lines);

// "1gbit, 4 workers, 4 dedicated servers, 16M"
std::string TextOf(const PushPullRecord& record);

// The tables that a reader gets.
std::string Tables(const std::vector<PushPullSeries>& all);

// What no line may say: elements that are wrong, or a time that its links do not allow. Errors name
// the first line at fault.
absl::Status CheckLines(const std::vector<PushPullRecord>& lines);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_SERIES_H_
