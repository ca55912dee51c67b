// Mean and standard deviation of a data set's pixels, by channel. Pure.
#ifndef CROSSOVER_WORKER_DATA_NORMALIZATION_H_
#define CROSSOVER_WORKER_DATA_NORMALIZATION_H_

#include "worker/data/dataset.h"

namespace crossover::worker {

// From exact integer counts of each byte value: the same bits on every machine and in
// any order of the samples. The deviation is that of the population and at least one
// grey level (1/255), so that a constant channel stays finite. The data set is not empty.
Normalization MeasureNormalization(const Dataset& dataset);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_NORMALIZATION_H_
