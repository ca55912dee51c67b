// What a choice of algorithms comes to: which for which sizes. For logs, and for whoever counts
// bytes. Pure, thread-safe.
#ifndef CROSSOVER_ALLREDUCE_CHOICE_RANGES_H_
#define CROSSOVER_ALLREDUCE_CHOICE_RANGES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allreduce/algorithms.h"
#include "allreduce/choice.h"
#include "proto/job.pb.h"

namespace crossover::allreduce {

struct ChoiceRange {
  Algorithm algorithm = Algorithm::kRing;
  int64_t up_to_bytes = 0;  // 0: no bound
};

// By growing size, of fp32 buffers. An algorithm that is chosen only between two sizes of which one
// is less than twice the other may be missed.
std::vector<ChoiceRange> ChoiceRanges(const std::function<Algorithm(int64_t bytes)>& choose);

// "recursive_doubling up to 3.2 KiB, ring above".
std::string RangesText(const std::vector<ChoiceRange>& ranges);

// Of a job's constants.
CostFit FitOf(const proto::TransportCosts& costs);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_CHOICE_RANGES_H_
