#include "absl/strings/str_cat.h"
#include "worker/models/factories.h"
#include "worker/models/flat_model.h"

namespace crossover::worker {
namespace {

class Lenet final : public Classifier {
 public:
  // Padding makes a 28x28 image the 32x32 that the layers were designed for.
  explicit Lenet(const DataShape& shape)
      : conv1_(register_module("conv1",
                               torch::nn::Conv2d(torch::nn::Conv2dOptions(shape.channels, 6, 5)
                                                     .padding(shape.height == 28 ? 2 : 0)))),
        conv2_(register_module("conv2", torch::nn::Conv2d(6, 16, 5))),
        dense1_(register_module("dense1", torch::nn::Linear(16 * 5 * 5, 120))),
        dense2_(register_module("dense2", torch::nn::Linear(120, 84))),
        output_(register_module("output", torch::nn::Linear(84, shape.classes))) {}

  torch::Tensor forward(const torch::Tensor& images) override {
    torch::Tensor x = torch::max_pool2d(torch::relu(conv1_(images)), 2);
    x = torch::max_pool2d(torch::relu(conv2_(x)), 2).flatten(1);
    return output_(torch::relu(dense2_(torch::relu(dense1_(x)))));
  }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::Conv2d conv2_;
  torch::nn::Linear dense1_;
  torch::nn::Linear dense2_;
  torch::nn::Linear output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeLenet(const DataShape& shape,
                                                 os::SharedBufferRegistry* shared) {
  if (shape.height != shape.width || (shape.height != 28 && shape.height != 32)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: lenet takes images of 28x28 or 32x32; the data's are ", shape.height,
                     "x", shape.width, "; model mlp takes any"));
  }
  return MakeFlatModel(std::make_shared<Lenet>(shape), shape, shared);
}

}  // namespace crossover::worker
