// What our collectives are meant to reach beside the peers, as measurements and verdicts: each row
// of the table in bench/README.md.
#ifndef CROSSOVER_BENCH_COMM_TARGETS_H_
#define CROSSOVER_BENCH_COMM_TARGETS_H_

#include <functional>
#include <string>
#include <vector>

#include "bench/comm/cells.h"
#include "bench/comm/test_plan.h"
#include "bench/shared/verdict.h"

namespace crossover::bench {

// One call of RunRounds.
struct TargetRun {
  std::vector<TestPlan> plans;
  int ranks = 2;
  std::string network;
  std::string peers;
};

struct Target {
  std::string name;
  std::string says;
  std::vector<TargetRun> runs;
  // Of the series of all runs; a cell that was not measured is a verdict that is not reached.
  std::function<std::vector<Verdict>(const std::vector<Series>&)> judge;
};

std::vector<Target> AllTargets();

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_TARGETS_H_
