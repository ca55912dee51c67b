// How one worker's gradients become everyone's parameters: the seam between the
// trainer, which knows no strategy, and parameter servers, collectives and local
// steps. worker/strategies/ implements it; one table there maps names to classes.
//
// A step, called from the compute thread:
//   BeginStep(t); forward; backward with BucketReady(b) for each bucket as its
//   gradients become final; EndStep(). After EndStep the parameters are valid in
//   place. A strategy may write a bucket's parameters as soon as that bucket is
//   ready: the backward pass has no more use for them (a parameter's gradient is
//   final only after every operation that reads it has run its backward).
//
// Buffers are borrowed at construction and outlive the strategy. Methods are not
// thread-safe against each other. A returned error is final: the worker ends.
#ifndef CROSSOVER_CORE_STRATEGY_H_
#define CROSSOVER_CORE_STRATEGY_H_

#include <cstdint>

#include "absl/status/status.h"

namespace crossover {

// Payload by our own ledger (headers apart), since construction.
struct StrategyCounters {
  int64_t payload_sent_bytes = 0;
  int64_t payload_received_bytes = 0;
  // Steps at whose end values were exchanged.
  int64_t synchronisations = 0;
  // Of servers: as ps::ClientCounters has them.
  int64_t late_pushes = 0;
  int64_t staleness_max = 0;
  int64_t mixed_version_steps = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Makes rank 0's parameters everyone's. Blocks; bounded by the job's deadlines.
  virtual absl::Status Start() = 0;
  virtual void BeginStep(int64_t step) = 0;
  // The gradients of a bucket are final. Never blocks.
  virtual void BucketReady(int bucket) = 0;
  // Blocks until the parameters of the next step are valid. Bounded by the job's
  // deadlines.
  virtual absl::Status EndStep() = 0;
  // The step to go on with after `step`: a later one than the next where the others have closed
  // steps without this worker.
  virtual int64_t NextStep(int64_t step) const { return step + 1; }
  // After the last step: makes the parameters what the job's result is
  // (the servers' last version, the average). Blocks, bounded.
  virtual absl::Status Finish() = 0;
  virtual StrategyCounters counters() const = 0;
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_STRATEGY_H_
