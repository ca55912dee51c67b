// What the workers of a push-pull test push, and what must come back, element by element: small
// whole numbers, so that sums in any order, their mean and the update are exact in fp32 (and in
// fp16 or bf16 on the wire).
//
// Worker w of N pushes q + (2w - N + 1) r, where q and r depend on the element: the mean is q, and
// a contribution that is missing or counted twice changes it. Odd steps push the negative, so that
// two steps in a row never give the same parameters, and no number grows. The servers apply sgd
// with rate 1, to a step's mean or, where nobody waits, to every push by itself, which moves the
// parameters N times as far. Pure.
#ifndef CROSSOVER_BENCH_PS_VALUES_H_
#define CROSSOVER_BENCH_PS_VALUES_H_

#include <cstdint>
#include <span>

namespace crossover::bench {

// `parameters` are the whole model.
void FillFirstParameters(std::span<float> parameters);
// Of steps 0, 2, ... or of steps 1, 3, ...
void FillPush(int worker, int workers, bool odd_step, std::span<float> gradient);
// Elements that are not what `steps` steps from the first parameters on have made of them, each of
// which moved them by the mean so many times: 1, or, where pushes are applied one by one, the
// workers.
int64_t CountWrong(int64_t steps, int times_mean, std::span<const float> parameters);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_VALUES_H_
