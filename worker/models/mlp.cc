#include "worker/models/factories.h"
#include "worker/models/flat_model.h"

namespace crossover::worker {
namespace {

constexpr int64_t kHidden = 256;

class Mlp final : public Classifier {
 public:
  explicit Mlp(const DataShape& shape)
      : hidden_(register_module("hidden", torch::nn::Linear(shape.pixels(), kHidden))),
        output_(register_module("output", torch::nn::Linear(kHidden, shape.classes))) {}

  torch::Tensor forward(const torch::Tensor& images) override {
    return output_(torch::relu(hidden_(images.flatten(1))));
  }

 private:
  torch::nn::Linear hidden_;
  torch::nn::Linear output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeMlp(const DataShape& shape,
                                               os::SharedBufferRegistry* shared) {
  return MakeFlatModel(std::make_shared<Mlp>(shape), shape, shared);
}

}  // namespace crossover::worker
