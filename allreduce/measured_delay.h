// The delay of the network between the ranks, for the choice of algorithms (allreduce/choice.h).
#ifndef CROSSOVER_ALLREDUCE_MEASURED_DELAY_H_
#define CROSSOVER_ALLREDUCE_MEASURED_DELAY_H_

#include "absl/status/statusor.h"
#include "allreduce/choice.h"
#include "allreduce/communicator.h"
#include "core/clock.h"

namespace crossover::allreduce {

// `fit` with the time of a step as it is now, where that shows a delay of 200 us and more. Less may
// be handling by the processors, which depends on the moment's load: then `fit` stays as it is, so
// that runs on one network choose alike. A collective call of some barriers, before others are in
// flight; blocks; the answer is the same on every rank. `communicator` and `clock` are borrowed for
// the call. Errors: the communicator's.
absl::StatusOr<CostFit> WithMeasuredDelay(Communicator& communicator, CostFit fit,
                                          const Clock& clock);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_MEASURED_DELAY_H_
