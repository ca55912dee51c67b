// What the figures of one study say, in sentences that claim no more than they do.
// Strategies are told apart by the paired difference of their repetitions; where its
// spread holds 0 they tie, and one repetition decides nothing. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_VERDICT_H_
#define CROSSOVER_EXPERIMENTS_REPORT_VERDICT_H_

#include <string>
#include <vector>

#include "experiments/results/summary.h"

namespace crossover::experiments {

struct Verdict {
  std::vector<std::string> sentences;  // throughput, time and cost to the target, accuracy
  std::vector<std::string> failures;   // one for each run that failed
  std::vector<std::string> caveats;    // what limits the sentences
};

Verdict MakeVerdict(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_VERDICT_H_
