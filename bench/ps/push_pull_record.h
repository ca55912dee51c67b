// One line of what a push-pull test has measured. Pure.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_RECORD_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace crossover::bench {

// A step: every worker pushes the model's bytes and gets as many back.
struct PushPullRecord {
  std::string op = "push_pull";
  std::string strategy = "ps_sync";
  std::string network;    // the lab's spec; "": loopback
  std::string placement;  // of the servers: dedicated, colocated
  int64_t workers_per_node = 1;
  int64_t workers = 0;
  int64_t servers = 0;
  int64_t bytes = 0;
  int64_t buckets = 0;
  int64_t part_bytes = 0;
  int64_t credits = 0;
  std::string settings;  // further fields of the job's ps: "channels=2 wire=fp16"
  int64_t round = 0;
  // Of a step: the median over the repetitions, each the maximum over the workers.
  double time_us = 0;
  double time_us_min = 0;
  double time_us_max = 0;
  double push_us = 0;     // until the last byte pushed has left the worker; likewise
  double algbw_GBps = 0;  // bytes / time: what each worker moves each way
  // The raw stream of all nodes (on loopback of as many processes) at once in both directions, the
  // slowest receiver's rate, in the same round; 0: not measured.
  double link_GBps = 0;
  double bound_us = 0;             // BoundUs at that rate; 0: none
  double server_cpu_s_per_GB = 0;  // all servers' CPU time for 1e9 bytes that workers pushed
  double worker_cpu_s_per_GB = 0;  // all workers', likewise
  double server_peak_MB = 0;       // the largest server's resident memory at its peak, 1e6 bytes
  double fairness = 0;             // Jain's index over the workers' own rates
  int64_t steps = 0;               // timed
  int64_t wrong = 0;               // elements of all workers, over all checks
  std::vector<double> worker_time_us;  // by rank: its own median
};

std::string WritePushPull(const PushPullRecord& record);  // one line of JSON without the newline
absl::StatusOr<PushPullRecord> ReadPushPull(std::string_view line);

// (sum x)^2 / (n sum x^2): 1 where all are equal, 1/n where one has everything (Jain, Chiu and
// Hawe 1984). 0 of nothing.
double FairnessIndex(const std::vector<double>& shares);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_RECORD_H_
