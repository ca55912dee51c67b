// What push and pull are meant to reach, as measurements and verdicts: each row of the table of
// ps_test in bench/README.md.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_TARGETS_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_TARGETS_H_

#include <functional>
#include <string>
#include <vector>

#include "bench/ps/push_pull_series.h"
#include "bench/ps/push_pull_setup.h"
#include "bench/shared/verdict.h"

namespace crossover::bench {

struct PushPullTarget {
  std::string name;
  std::string says;
  std::vector<PushPullFlags> runs;  // calls of RunPushPullRounds
  // Of the series of all runs; a cell that was not measured is a verdict that is not reached.
  std::function<std::vector<Verdict>(const std::vector<PushPullSeries>&)> judge;
};

std::vector<PushPullTarget> AllPushPullTargets();

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_TARGETS_H_
