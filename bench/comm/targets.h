// What our collectives are meant to reach beside the peers, as measurements and verdicts: each row
// of the table in bench/README.md.
#ifndef CROSSOVER_BENCH_COMM_TARGETS_H_
#define CROSSOVER_BENCH_COMM_TARGETS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/comm/cells.h"
#include "bench/comm/test_plan.h"

namespace crossover::bench {

// One call of RunRounds.
struct TargetRun {
  std::vector<TestPlan> plans;
  int ranks = 2;
  std::string network;
  std::string peers;
};

struct Verdict {
  std::string what;  // "tcp, 2 ranks, 16M"
  bool reached = false;
  std::string found;  // "1.75 (1.70 to 1.81) times gloo ring_chunked, to reach 1.3"
};

struct Target {
  std::string name;
  std::string says;
  std::vector<TargetRun> runs;
  // Of the series of all runs; a cell that was not measured is a verdict that is not reached.
  std::function<std::vector<Verdict>(const std::vector<Series>&)> judge;
};

std::vector<Target> AllTargets();
// By name, or all of them for "all". Errors list the names.
absl::StatusOr<std::vector<Target>> TargetsNamed(const std::string& names);

// Lines "reached  WHAT: FOUND" under the target's name.
std::string VerdictText(const Target& target, const std::vector<Verdict>& verdicts);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_TARGETS_H_
