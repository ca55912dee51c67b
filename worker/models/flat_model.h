// Turns any LibTorch module that classifies images into a Model: parameters and
// gradients become views of two flat buffers. Private to this package: it includes
// LibTorch.
#ifndef CROSSOVER_WORKER_MODELS_FLAT_MODEL_H_
#define CROSSOVER_WORKER_MODELS_FLAT_MODEL_H_

#include <torch/torch.h>

#include <memory>

#include "worker/data/dataset.h"
#include "worker/models/model.h"

namespace crossover::worker {

// [N, channels, height, width] -> logits [N, classes]. Layers are registered in the
// order of the forward pass; the flat layout is the reverse of it.
class Classifier : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& images) = 0;
};

std::unique_ptr<Model> MakeFlatModel(std::shared_ptr<Classifier> classifier, const DataShape& shape,
                                     os::SharedBufferRegistry* shared);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_FLAT_MODEL_H_
