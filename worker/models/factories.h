// The models by constructor; models.cc has the one table that maps names to them.
// None of these headers brings LibTorch in.
#ifndef CROSSOVER_WORKER_MODELS_FACTORIES_H_
#define CROSSOVER_WORKER_MODELS_FACTORIES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "os/shared_memory.h"
#include "worker/data/dataset.h"
#include "worker/models/model.h"

namespace crossover::worker {

// Each draws its initial parameters from LibTorch's global generator, in the order in
// which its layers are built, and refuses a shape that it cannot take. `shared` as in MakeModel.
//
// pixels - 256 - classes, ReLU between.
absl::StatusOr<std::unique_ptr<Model>> MakeMlp(const DataShape& shape,
                                               os::SharedBufferRegistry* shared);
// LeNet-5 (LeCun et al. 1998) with ReLU and max-pooling; 28x28 or 32x32.
absl::StatusOr<std::unique_ptr<Model>> MakeLenet(const DataShape& shape,
                                                 os::SharedBufferRegistry* shared);
// ResNet-18 (He et al. 2015) for small images: the first convolution is 3x3 with
// stride 1, and no max-pooling follows it; sides of at least 16.
absl::StatusOr<std::unique_ptr<Model>> MakeResnet18(const DataShape& shape,
                                                    os::SharedBufferRegistry* shared);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_FACTORIES_H_
