// The figures that go into the cost formulas, taken from a run's line. Pure.
#ifndef CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_INPUTS_H_
#define CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/prediction/cost_model.h"
#include "experiments/results/result.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

struct PredictionInputs {
  CostInputs cost;
  // A slow worker of the job (Straggler): in this part of the steps one worker's compute takes
  // `slowdown` times as long.
  double slow_share = 0;
  double slowdown = 1;
  // Where the figures come from, for the reader.
  std::vector<std::string> sources;
};

// `single`: the single run of the same job and repetition, null if there is none; of it compute,
// data and update are taken. Errors: what is missing, in words for the reader: no probe, a job that
// does not parse.
absl::StatusOr<PredictionInputs> MakePredictionInputs(const RunResult& run,
                                                      const RunResult* single);

// When each of the run's buckets is final in the backward pass of the profile's layers, as a
// part of the compute. `bucket_bytes` in the order of the buckets; the last layer comes first.
std::vector<double> ReadyShares(const proto::Emulated& emulated,
                                const std::vector<double>& bucket_bytes);

// The slowest card of each role, by the names of the probe's nodes ("worker0", "server1"): of
// all nodes where none of them has such a name, or where servers share the workers' nodes.
// Errors: no probe, or a rate of zero.
absl::StatusOr<LinkSpeed> LinkOf(const Network& network);

// Part of the measured steps after which parameters are averaged.
double ExchangedShare(const proto::Job& job, int64_t steps, int64_t warmup_steps);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_PREDICTION_PREDICTION_INPUTS_H_
