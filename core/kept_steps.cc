#include "core/kept_steps.h"

#include <algorithm>
#include <set>

#include "core/strategy_traits.h"

namespace crossover {

std::vector<int64_t> PicturedSteps(const proto::Job& job, int64_t total_steps) {
  constexpr int64_t kMost = 32;
  const int64_t count = TraitsOf(job).local_steps ? 2 * job.local_sgd().local_steps() : 3;
  const int64_t middle = total_steps / 2;
  std::vector<int64_t> steps;
  for (int64_t step = middle; step < middle + std::min(count, kMost); ++step) {
    if (step < total_steps) steps.push_back(step);
  }
  return steps;
}

std::vector<int64_t> KeptSteps(const proto::Job& job, int64_t total_steps) {
  if (total_steps < 1) return {};
  const std::vector<int64_t> pictured = PicturedSteps(job, total_steps);
  std::set<int64_t> steps(pictured.begin(), pictured.end());
  steps.insert(std::min(job.measure().warmup_steps(), total_steps - 1));
  steps.insert(total_steps - 1);
  return {steps.begin(), steps.end()};
}

}  // namespace crossover
