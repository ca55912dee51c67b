#include "core/elastic_averaging.h"

#include "core/check.h"

namespace crossover {

double ElasticRate(const proto::Job& job) {
  constexpr double kBeta = 0.9;  // of all workers together, as in the paper's experiments
  const double rate = job.ps().elastic_rate();
  return rate > 0 ? rate : kBeta / job.workers();
}

bool ExchangesAfter(int64_t local_steps, int64_t step) { return (step + 1) % local_steps == 0; }

void MoveCentre(double alpha, std::span<float> centre, std::span<const float> worker) {
  CROSSOVER_CHECK(centre.size() == worker.size(), "each value of the centre has its worker's");
  const auto part = static_cast<float>(alpha);
  for (size_t i = 0; i < centre.size(); ++i) centre[i] += part * (worker[i] - centre[i]);
}

void MoveWorker(double alpha, std::span<float> worker, std::span<const float> moved_centre) {
  CROSSOVER_CHECK(worker.size() == moved_centre.size(), "each value has the centre's");
  const auto part = static_cast<float>(alpha / (1 - alpha));
  for (size_t i = 0; i < worker.size(); ++i) worker[i] -= part * (worker[i] - moved_centre[i]);
}

}  // namespace crossover
