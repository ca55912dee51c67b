#include "worker/models/flat_model.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/check.h"
#include "worker/models/aligned_floats.h"

namespace crossover::worker {
namespace {

// Evaluation's activations of resnet18 take about 1 MB a sample.
constexpr int64_t kEvaluationBatch = 250;

using VariableList = std::vector<torch::autograd::Variable>;

// LibTorch's tensors over memory of ours; it is not written through inputs.
torch::Tensor ImagesTensor(const Batch& batch, const DataShape& shape) {
  CROSSOVER_CHECK(static_cast<int64_t>(batch.images.size()) == batch.size() * shape.pixels(),
                  "the batch has the model's shape");
  return torch::from_blob(const_cast<float*>(batch.images.data()),
                          {batch.size(), shape.channels, shape.height, shape.width}, torch::kFloat);
}
torch::Tensor LabelsTensor(const Batch& batch) {
  return torch::from_blob(const_cast<int64_t*>(batch.labels.data()), {batch.size()}, torch::kLong);
}

class FlatModel final : public Model {
 public:
  FlatModel(std::shared_ptr<Classifier> classifier, const DataShape& shape,
            os::SharedBufferRegistry* shared)
      : classifier_(std::move(classifier)), shape_(shape) {
    auto named = classifier_->named_parameters().items();
    std::reverse(named.begin(), named.end());
    for (const auto& item : named) {
      AppendParameter(layout_, item.key(), item.value().sizes().vec());
      tensors_.push_back(item.value());
    }
    parameters_ = MakeZeros(layout_.length, shared);
    gradients_ = MakeZeros(layout_.length, shared);
    for (size_t i = 0; i < tensors_.size(); ++i) Flatten(static_cast<int>(i));
  }
  // Hooks inside LibTorch's graph point to this object.
  FlatModel(const FlatModel&) = delete;
  FlatModel& operator=(const FlatModel&) = delete;

  const FlatLayout& layout() const override { return layout_; }
  DeviceSpan parameters() override { return Span(parameters_); }
  DeviceSpan gradients() override { return Span(gradients_); }

  double ForwardBackward(const Batch& batch, double weight,
                         const std::function<void(int)>& ready) override {
    CROSSOVER_CHECK(batch.size() > 0, "the mean loss of no samples does not exist");
    ready_ = &ready;
    const torch::Tensor logits = classifier_->forward(ImagesTensor(batch, shape_));
    const torch::Tensor loss = torch::nn::functional::cross_entropy(logits, LabelsTensor(batch));
    (loss * weight).backward();
    ready_ = nullptr;
    return loss.item<double>();
  }

  std::optional<EvaluationResult> Evaluate(const Dataset& dataset) override {
    CROSSOVER_CHECK(dataset.size() > 0, "an accuracy needs samples");
    const torch::NoGradGuard no_gradients;
    classifier_->eval();
    const BatchFiller filler(dataset);
    std::vector<int64_t> samples;
    Batch batch;
    int64_t correct = 0;
    double loss_sum = 0;
    for (int64_t begin = 0; begin < dataset.size(); begin += kEvaluationBatch) {
      samples.resize(std::min(kEvaluationBatch, dataset.size() - begin));
      std::iota(samples.begin(), samples.end(), begin);
      filler.Fill(samples, batch);
      const torch::Tensor logits = classifier_->forward(ImagesTensor(batch, shape_));
      const torch::Tensor labels = LabelsTensor(batch);
      loss_sum += torch::nn::functional::cross_entropy(logits, labels).item<double>() *
                  static_cast<double>(batch.size());
      correct += logits.argmax(1).eq(labels).sum().item<int64_t>();
    }
    classifier_->train();
    const auto size = static_cast<double>(dataset.size());
    return EvaluationResult{.accuracy = static_cast<double>(correct) / size,
                            .loss = loss_sum / size};
  }

  std::vector<float> SaveBuffers() override {
    std::vector<float> saved;
    for (const torch::Tensor& buffer : FloatBuffers()) {
      const float* data = buffer.data_ptr<float>();
      saved.insert(saved.end(), data, data + buffer.numel());
    }
    return saved;
  }

  void LoadBuffers(std::span<const float> buffers) override {
    for (const torch::Tensor& buffer : FloatBuffers()) {
      const size_t length = buffer.numel();
      CROSSOVER_CHECK(buffers.size() >= length, "buffers that this model saved");
      std::copy_n(buffers.begin(), length, buffer.data_ptr<float>());
      buffers = buffers.subspan(length);
    }
    CROSSOVER_CHECK(buffers.empty(), "buffers that this model saved");
  }

 private:
  // Moves a parameter into the flat buffer, gives it a gradient in the other one, and
  // has the end of its gradient's accumulation announced.
  void Flatten(int index) {
    const ParameterInfo& info = layout_.parameters[index];
    torch::Tensor& tensor = tensors_[index];
    const torch::Tensor view =
        torch::from_blob(parameters_.get() + info.offset, info.shape, torch::kFloat);
    view.copy_(tensor.detach());
    tensor.set_data(view);
    tensor.mutable_grad() =
        torch::from_blob(gradients_.get() + info.offset, info.shape, torch::kFloat);
    // As in DDP's reducer: the node that adds into .grad, kept alive by us, since the
    // tensor holds it weakly and a new one would lack the hook.
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(tensor));
    accumulators_.back()->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, index](const VariableList& outputs, const VariableList&) {
          GradientAccumulated(index);
          return outputs;
        }));
  }

  void GradientAccumulated(int index) {
    const float* expected = gradients_.get() + layout_.parameters[index].offset;
    CROSSOVER_CHECK(tensors_[index].grad().data_ptr<float>() == expected,
                    "LibTorch adds into the gradient buffer in place");
    CROSSOVER_CHECK(ready_ != nullptr, "gradients come from ForwardBackward alone");
    if (*ready_) (*ready_)(index);
  }

  DeviceSpan Span(const AlignedFloats& buffer) const {
    return {.data = buffer.get(), .length = static_cast<size_t>(layout_.length)};
  }

  // Without batch-norm's counters of batches, which nothing reads: its momentum is fixed.
  std::vector<torch::Tensor> FloatBuffers() const {
    std::vector<torch::Tensor> buffers = classifier_->buffers();
    std::erase_if(buffers, [](const torch::Tensor& b) { return b.scalar_type() != torch::kFloat; });
    return buffers;
  }

  // The buffers are declared before what points into them.
  AlignedFloats parameters_;
  AlignedFloats gradients_;
  const std::shared_ptr<Classifier> classifier_;
  const DataShape shape_;
  FlatLayout layout_;
  std::vector<torch::Tensor> tensors_;  // by parameter index
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
  const std::function<void(int)>* ready_ = nullptr;  // during ForwardBackward
};

}  // namespace

std::unique_ptr<Model> MakeFlatModel(std::shared_ptr<Classifier> classifier, const DataShape& shape,
                                     os::SharedBufferRegistry* shared) {
  return std::make_unique<FlatModel>(std::move(classifier), shape, shared);
}

}  // namespace crossover::worker
