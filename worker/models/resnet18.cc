#include "absl/strings/str_cat.h"
#include "worker/models/factories.h"
#include "worker/models/flat_model.h"

namespace crossover::worker {
namespace {

constexpr int kSideMin = 16;  // three halvings leave 2x2, enough for batch-norm of one sample

torch::nn::Conv2d Convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

// Two 3x3 convolutions and a way past them; where the shape changes, that is a 1x1
// convolution.
class BasicBlock final : public torch::nn::Module {
 public:
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1_(register_module("conv1", Convolution(in, out, 3, stride))),
        norm1_(register_module("norm1", torch::nn::BatchNorm2d(out))),
        conv2_(register_module("conv2", Convolution(out, out, 3, 1))),
        norm2_(register_module("norm2", torch::nn::BatchNorm2d(out))) {
    if (stride == 1 && in == out) return;
    shortcut_ = register_module("shortcut", torch::nn::Sequential(Convolution(in, out, 1, stride),
                                                                  torch::nn::BatchNorm2d(out)));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor y = torch::relu(norm1_(conv1_(x)));
    y = norm2_(conv2_(y));
    return torch::relu(y + (shortcut_.is_empty() ? x : shortcut_->forward(x)));
  }

 private:
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d norm1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d norm2_;
  torch::nn::Sequential shortcut_{nullptr};
};

class Resnet18 final : public Classifier {
 public:
  explicit Resnet18(const DataShape& shape)
      : conv_(register_module("conv", Convolution(shape.channels, 64, 3, 1))),
        norm_(register_module("norm", torch::nn::BatchNorm2d(64))),
        blocks_(register_module("blocks", torch::nn::Sequential())) {
    int64_t in = 64;
    for (const int64_t out : {64, 128, 256, 512}) {
      blocks_->push_back(BasicBlock(in, out, out == 64 ? 1 : 2));
      blocks_->push_back(BasicBlock(out, out, 1));
      in = out;
    }
    output_ = register_module("output", torch::nn::Linear(512, shape.classes));
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    const torch::Tensor x = blocks_->forward(torch::relu(norm_(conv_(images))));
    return output_(x.mean({2, 3}));
  }

 private:
  torch::nn::Conv2d conv_;
  torch::nn::BatchNorm2d norm_;
  torch::nn::Sequential blocks_;
  torch::nn::Linear output_{nullptr};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeResnet18(const DataShape& shape,
                                                    os::SharedBufferRegistry* shared) {
  if (shape.height < kSideMin || shape.width < kSideMin) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model: resnet18 takes images of ", kSideMin, "x", kSideMin, " and more; the data's are ",
        shape.height, "x", shape.width, "; model mlp takes any"));
  }
  return MakeFlatModel(std::make_shared<Resnet18>(shape), shape, shared);
}

}  // namespace crossover::worker
