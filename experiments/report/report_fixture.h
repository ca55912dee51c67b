// Hand-made process reports with figures that can be worked out on paper, for tests.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_REPORT_FIXTURE_H_
#define CROSSOVER_EXPERIMENTS_REPORT_REPORT_FIXTURE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace crossover::experiments {

inline constexpr int64_t kMs = 1000000;

// One warm-up step, 64 samples a worker and step.
proto::Job TestJob(proto::Strategy::Name strategy, int workers, int servers = 2);

// One step in milliseconds since its start; ops are pairs of start and end.
struct Step {
  int64_t start = 0;
  int64_t length = 100;
  int64_t compute = 0;
  int64_t communication = 0;
  int64_t hidden = 0;
  int64_t data = 0;
  int64_t apply = 0;
  int64_t covered = 100;
  std::vector<std::pair<int64_t, int64_t>> ops = {};
  int64_t held = 0;
  int64_t samples = 64;
  float loss = 1;
};

// `offset_ms`: what takes the worker's clock to the rendezvous's; the steps' starts are
// given on the rendezvous's clock. 1,000 parameters.
proto::ProcessReport Worker(int rank, int64_t offset_ms, const std::vector<Step>& steps);

// With 2,000 bytes of parameters.
proto::ProcessReport Server(int rank);

// A snapshot of a worker after so many steps.
void AddEvaluation(proto::ProcessReport& report, int64_t steps, int64_t time_ms, double accuracy);

// Data 0-5, compute 5-60, two buckets 40-70 and 70-95, apply 95-99 of 100 ms.
Step Quick(int64_t start);
// Compute 5-80 and so late with both buckets, 50-70 and 80-95.
Step Slow(int64_t start);

// Worker 1, slow, and worker 0, quick: three steps each, their clocks a second apart,
// three synchronisations of 4,000 bytes.
std::vector<proto::ProcessReport> TwoRanks();

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_REPORT_FIXTURE_H_
