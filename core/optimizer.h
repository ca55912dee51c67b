// The update rules, one implementation for servers and workers: elementwise
// over a stretch of parameters, its gradients and its state, so that any cutting
// of the flat buffer gives the same bits. Formulas are PyTorch's (torch.optim.SGD,
// dampening 0; torch.optim.Adam, amsgrad off), operation by operation: without
// fused multiply-add PyTorch gives the same bits. Ours has none either: compiled
// with -ffp-contract=off. Scalars are computed in double and rounded to fp32 once.
#ifndef CROSSOVER_CORE_OPTIMIZER_H_
#define CROSSOVER_CORE_OPTIMIZER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "proto/job.pb.h"

namespace crossover {

// The state of one stretch of parameters. Not thread-safe; disjoint stretches
// are independent.
class Optimizer {
 public:
  // `config` must have passed ValidateJob; `length` values of parameters. State
  // starts as PyTorch's does.
  Optimizer(const proto::Optimizer& config, int64_t length);

  // One update of parameters [offset, offset + gradient.size()) of the stretch.
  // `parameters` and `gradient` are those values alone, of equal size (CHECK, as
  // is the range). `update` is the number of updates that these values have had
  // before; Adam's bias correction needs it, and the caller says it, since a
  // server's parts advance apart.
  void Apply(int64_t offset, std::span<float> parameters, std::span<const float> gradient,
             double learning_rate, int64_t update);

  // Bytes of state held.
  int64_t state_bytes() const;

 private:
  proto::Optimizer config_;
  int64_t length_;
  std::vector<float> momentum_;  // momentum's buffer or Adam's first moment
  std::vector<float> second_;    // Adam's second moment
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_OPTIMIZER_H_
