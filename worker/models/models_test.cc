// The models through their interface. LibTorch's headers stay out of here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "worker/data/batch.h"
#include "worker/models/blas.h"
#include "worker/models/model.h"
#include "worker/models/torch_threads.h"

namespace crossover::worker {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr DataShape kGray28 = {.channels = 1, .height = 28, .width = 28, .classes = 10};
constexpr DataShape kColor32 = {.channels = 3, .height = 32, .width = 32, .classes = 10};

// Numbers in [-scale, scale] that look irregular; the same as in tools/golden.
float Pattern(int64_t i, double scale) {
  return static_cast<float>(static_cast<double>((i * 7919 + 104729) % 2003 - 1001) / 1001.0 *
                            scale);
}

std::unique_ptr<Model> Make(proto::Model::Name name, const DataShape& shape, uint64_t seed = 1) {
  proto::Job job;
  job.set_model(name);
  job.set_seed(seed);
  static SystemClock clock;
  auto model = MakeModel(job, shape, 0, clock);
  EXPECT_TRUE(model.ok()) << model.status();
  return std::move(model).value();
}

Batch PatternBatch(const DataShape& shape, int size, int64_t start = 0) {
  Batch batch;
  for (int64_t i = 0; i < size * shape.pixels(); ++i) {
    batch.images.push_back(Pattern(start * shape.pixels() + i, 1.0));
  }
  for (int i = 0; i < size; ++i) batch.labels.push_back((start + i) % shape.classes);
  return batch;
}

Dataset PatternDataset(const DataShape& shape, int size) {
  Dataset dataset;
  dataset.shape = shape;
  for (int64_t i = 0; i < size * shape.pixels(); ++i) {
    dataset.pixels.push_back(static_cast<uint8_t>((i * 7919 + 104729) % 251));
  }
  for (int i = 0; i < size; ++i) dataset.labels.push_back(i % shape.classes);
  dataset.normalization.mean.assign(shape.channels, 0.5f);
  dataset.normalization.standard_deviation.assign(shape.channels, 0.25f);
  return dataset;
}

std::vector<float> Values(DeviceSpan span) { return {span.host().begin(), span.host().end()}; }
void Zero(DeviceSpan span) { std::fill_n(span.data, span.length, 0.0f); }

// ||a - b|| / ||b||.
double RelativeDistance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / norm);
}

double Train(Model& model, const Batch& batch, double learning_rate, int steps) {
  double loss = 0;
  for (int step = 0; step < steps; ++step) {
    Zero(model.gradients());
    loss = model.ForwardBackward(batch, 1.0, {});
    const std::span<float> parameters = model.parameters().host();
    const std::span<const float> gradients = model.gradients().host();
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] -= static_cast<float>(learning_rate) * gradients[i];
    }
  }
  return loss;
}

TEST(MlpTest, LayoutIsReverseForwardWithoutGaps) {
  const auto model = Make(proto::Model::mlp, kGray28);
  const FlatLayout& layout = model->layout();
  ASSERT_EQ(layout.parameters.size(), 4u);
  EXPECT_EQ(layout.parameters[0].name, "output.bias");
  EXPECT_EQ(layout.parameters[1].name, "output.weight");
  EXPECT_EQ(layout.parameters[2].name, "hidden.bias");
  EXPECT_EQ(layout.parameters[3].name, "hidden.weight");
  EXPECT_EQ(layout.parameters[1].shape, (std::vector<int64_t>{10, 256}));
  EXPECT_EQ(layout.parameters[1].offset, 10);
  EXPECT_EQ(layout.parameters[3].offset, 10 + 2560 + 256);
  EXPECT_EQ(layout.length, 203530);
  EXPECT_EQ(model->parameters().length, 203530u);
  EXPECT_EQ(model->gradients().length, 203530u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(model->parameters().data) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(model->gradients().data) % 64, 0u);
}

TEST(MlpTest, FollowsTheDataShape) {
  const auto model =
      Make(proto::Model::mlp, {.channels = 3, .height = 4, .width = 5, .classes = 7});
  EXPECT_EQ(model->layout().length, 60 * 256 + 256 + 256 * 7 + 7);
}

TEST(MlpTest, TensorsAreViewsOfTheParameters) {
  const auto model = Make(proto::Model::mlp, kGray28);
  const Batch batch = PatternBatch(kGray28, 4);
  // With all parameters zero every class is as likely as any other.
  Zero(model->parameters());
  EXPECT_NEAR(model->ForwardBackward(batch, 1.0, {}), std::log(10.0), 1e-6);
  // A large bias of class 0 (the first value of the buffer) decides for it.
  model->parameters().host()[0] = 50;
  Batch class0 = batch;
  class0.labels.assign(4, 0);
  EXPECT_NEAR(model->ForwardBackward(class0, 1.0, {}), 0.0, 1e-6);
}

TEST(MlpTest, InitialParametersComeFromTheSeedAlone) {
  const std::vector<float> a = Values(Make(proto::Model::mlp, kGray28, 5)->parameters());
  const auto between = Make(proto::Model::lenet, kGray28, 9);
  EXPECT_EQ(Values(Make(proto::Model::mlp, kGray28, 5)->parameters()), a);
  EXPECT_NE(Values(Make(proto::Model::mlp, kGray28, 6)->parameters()), a);
}

TEST(MlpTest, ReadyComesLastLayerFirstAndOnceEach) {
  const auto model = Make(proto::Model::mlp, kGray28);
  std::vector<int> order;
  model->ForwardBackward(PatternBatch(kGray28, 4), 1.0, [&](int index) {
    order.push_back(index);
    // Its gradient is final: the bias of the output layer never has a zero sum.
    const ParameterInfo& info = model->layout().parameters[index];
    const auto values = model->gradients().host().subspan(info.offset, info.length);
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](float v) { return v != 0; }));
  });
  ASSERT_EQ(order.size(), 4u);
  std::vector<int> layers;
  for (const int index : order) layers.push_back(index / 2);
  EXPECT_THAT(layers, testing::ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(order, testing::UnorderedElementsAre(0, 1, 2, 3));
}

TEST(MlpTest, ParametersMayBeOverwrittenOnceTheirGradientIsReady) {
  // What Strategy is allowed to do in the middle of the backward pass.
  const auto plain = Make(proto::Model::mlp, kGray28);
  const auto overwritten = Make(proto::Model::mlp, kGray28);
  const Batch batch = PatternBatch(kGray28, 4);
  plain->ForwardBackward(batch, 1.0, {});
  overwritten->ForwardBackward(batch, 1.0, [&](int index) {
    const ParameterInfo& info = overwritten->layout().parameters[index];
    std::fill_n(overwritten->parameters().data + info.offset, info.length, 1e9f);
  });
  EXPECT_EQ(Values(overwritten->gradients()), Values(plain->gradients()));
}

TEST(MlpTest, GradientsOfMicroBatchesSumToThoseOfOneLargeBatch) {
  const auto model = Make(proto::Model::mlp, kGray28);
  const double loss = model->ForwardBackward(PatternBatch(kGray28, 10), 1.0, {});
  const std::vector<float> large = Values(model->gradients());
  Zero(model->gradients());
  double summed_loss = 0;
  summed_loss += 0.4 * model->ForwardBackward(PatternBatch(kGray28, 4, 0), 0.4, {});
  summed_loss += 0.3 * model->ForwardBackward(PatternBatch(kGray28, 3, 4), 0.3, {});
  summed_loss += 0.3 * model->ForwardBackward(PatternBatch(kGray28, 3, 7), 0.3, {});
  EXPECT_LT(RelativeDistance(Values(model->gradients()), large), 1e-5);
  EXPECT_NEAR(summed_loss, loss, 1e-5);
}

TEST(MlpTest, GradientIsTheLossesSlope) {
  const auto model = Make(proto::Model::mlp, kGray28);
  const Batch batch = PatternBatch(kGray28, 16);
  model->ForwardBackward(batch, 1.0, {});
  const std::vector<float> gradient = Values(model->gradients());
  // Along the gradient, where fp32 still resolves the difference, and along single
  // coordinates with a large gradient.
  const std::span<float> parameters = model->parameters().host();
  double square = 0;
  for (const float g : gradient) square += double{g} * g;
  const std::vector<float> start = Values(model->parameters());
  const auto loss_at = [&](double t) {
    for (size_t i = 0; i < start.size(); ++i) {
      parameters[i] = static_cast<float>(start[i] + t * gradient[i]);
    }
    return model->ForwardBackward(batch, 1.0, {});
  };
  const double t = 1e-3 / std::sqrt(square);
  EXPECT_NEAR((loss_at(t) - loss_at(-t)) / (2 * t) / square, 1.0, 0.01);
  loss_at(0);
  for (const int coordinate : {0, 9, 100, 2571, 150000}) {
    const float h = 0.02f;
    parameters[coordinate] = start[coordinate] + h;
    const double above = model->ForwardBackward(batch, 1.0, {});
    parameters[coordinate] = start[coordinate] - h;
    const double below = model->ForwardBackward(batch, 1.0, {});
    parameters[coordinate] = start[coordinate];
    EXPECT_NEAR((above - below) / (2 * h), gradient[coordinate], 1e-4) << coordinate;
  }
}

TEST(MlpTest, TwoInstancesGiveTheSameBits) {
  const auto a = Make(proto::Model::mlp, kGray28);
  const auto b = Make(proto::Model::mlp, kGray28);
  const Batch batch = PatternBatch(kGray28, 64);
  EXPECT_EQ(a->ForwardBackward(batch, 1.0, {}), b->ForwardBackward(batch, 1.0, {}));
  EXPECT_EQ(Values(a->gradients()), Values(b->gradients()));
}

TEST(MlpTest, PlainSgdLowersTheLoss) {
  const auto model = Make(proto::Model::mlp, kGray28);
  const Batch batch = PatternBatch(kGray28, 32);
  const double before = Train(*model, batch, 0.05, 1);
  EXPECT_LT(Train(*model, batch, 0.05, 100), before / 2);
}

TEST(MlpTest, EvaluatesAccuracyAndLossOverUnevenBatches) {
  const auto model = Make(proto::Model::mlp, kGray28);
  Zero(model->parameters());
  model->parameters().host()[3] = 1;  // the bias of class 3: the answer to every image
  // 601 samples: three evaluation batches, the last one of 101.
  const EvaluationResult result = *model->Evaluate(PatternDataset(kGray28, 601));
  EXPECT_DOUBLE_EQ(result.accuracy, 60.0 / 601);
  const double log_sum = std::log(9 + std::exp(1.0));
  EXPECT_NEAR(result.loss, log_sum - 60.0 / 601, 1e-5);
}

TEST(MlpTest, EvaluationLeavesGradientsAndParametersAlone) {
  const auto model = Make(proto::Model::mlp, kGray28);
  model->ForwardBackward(PatternBatch(kGray28, 4), 1.0, {});
  const std::vector<float> gradients = Values(model->gradients());
  const std::vector<float> parameters = Values(model->parameters());
  model->Evaluate(PatternDataset(kGray28, 20));
  EXPECT_EQ(Values(model->gradients()), gradients);
  EXPECT_EQ(Values(model->parameters()), parameters);
}

TEST(MlpTest, HasNoBuffers) {
  const auto model = Make(proto::Model::mlp, kGray28);
  EXPECT_TRUE(model->SaveBuffers().empty());
  model->LoadBuffers({});
}

TEST(MlpTest, BatchOfAnotherShapeIsABug) {
  const auto model = Make(proto::Model::mlp, kGray28);
  Batch batch = PatternBatch(kGray28, 2);
  batch.images.pop_back();
  EXPECT_DEATH(model->ForwardBackward(batch, 1.0, {}), "the batch has the model's shape");
  EXPECT_DEATH(model->ForwardBackward(Batch(), 1.0, {}), "no samples");
}

// Lenet and resnet18 on both shapes.
class ConvolutionTest
    : public testing::TestWithParam<std::tuple<proto::Model::Name, const DataShape*>> {};

TEST_P(ConvolutionTest, OneStepAnnouncesEveryParameterInLayerOrder) {
  const auto [name, shape] = GetParam();
  const auto model = Make(name, *shape);
  std::vector<int> order;
  const double loss = model->ForwardBackward(PatternBatch(*shape, 2), 1.0,
                                             [&](int index) { order.push_back(index); });
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_GT(loss, 0);
  const int count = static_cast<int>(model->layout().parameters.size());
  ASSERT_EQ(static_cast<int>(order.size()), count);
  // The output layer's two first; within a layer and around shortcuts the order is free.
  EXPECT_LT(order[0], 2);
  for (int i = 0; i < count; ++i) EXPECT_LE(std::abs(order[i] - i), 8) << i;
  std::sort(order.begin(), order.end());
  for (int i = 0; i < count; ++i) EXPECT_EQ(order[i], i);
}

TEST_P(ConvolutionTest, TrainsAndEvaluates) {
  const auto [name, shape] = GetParam();
  const auto model = Make(name, *shape);
  const Dataset dataset = PatternDataset(*shape, 5);
  Batch batch;
  BatchFiller(dataset).Fill(std::vector<int64_t>{0, 1, 2, 3, 4}, batch);
  const double before = model->Evaluate(dataset)->loss;
  Train(*model, batch, 0.05, 60);
  const EvaluationResult result = *model->Evaluate(dataset);
  EXPECT_EQ(result.accuracy, 1) << "it has learnt these five by heart";
  EXPECT_LT(result.loss, before / 2);
}

TEST_P(ConvolutionTest, TwoInstancesGiveTheSameBits) {
  const auto [name, shape] = GetParam();
  const auto a = Make(name, *shape);
  const auto b = Make(name, *shape);
  const Batch batch = PatternBatch(*shape, 3);
  a->ForwardBackward(batch, 1.0, {});
  b->ForwardBackward(batch, 1.0, {});
  EXPECT_EQ(Values(a->gradients()), Values(b->gradients()));
}

INSTANTIATE_TEST_SUITE_P(Models, ConvolutionTest,
                         testing::Combine(testing::Values(proto::Model::lenet,
                                                          proto::Model::resnet18),
                                          testing::Values(&kGray28, &kColor32)),
                         [](const auto& info) {
                           return proto::Model::Name_Name(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) == &kGray28 ? "Gray28" : "Color32");
                         });

TEST(LenetTest, SizesAreThePapers) {
  // 6@5x5, 16@5x5, 120, 84, 10 with full connections between the convolutions.
  const int64_t dense = 400 * 120 + 120 + 120 * 84 + 84 + 84 * 10 + 10;
  EXPECT_EQ(Make(proto::Model::lenet, kGray28)->layout().length,
            (25 * 6 + 6) + (25 * 6 * 16 + 16) + dense);
  EXPECT_EQ(Make(proto::Model::lenet, kColor32)->layout().length,
            (75 * 6 + 6) + (25 * 6 * 16 + 16) + dense);
}

TEST(LenetTest, OtherSizesAreRefused) {
  proto::Job job;
  job.set_model(proto::Model::lenet);
  SystemClock clock;
  for (const DataShape& shape :
       {DataShape{.height = 20, .width = 20}, DataShape{.height = 28, .width = 32}}) {
    const auto model = MakeModel(job, shape, 0, clock);
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(model.status().message()),
                HasSubstr("lenet takes images of 28x28 or 32x32; the data's are "));
  }
}

TEST(Resnet18Test, SizeIsTheOneKnownForSmallImages) {
  // PyTorch's ResNet-18 with a 3x3 first convolution: 11,173,962 for 3 channels and 10 classes.
  EXPECT_EQ(Make(proto::Model::resnet18, kColor32)->layout().length, 11'173'962);
}

TEST(Resnet18Test, TinyImagesAreRefused) {
  proto::Job job;
  job.set_model(proto::Model::resnet18);
  SystemClock clock;
  const auto model = MakeModel(job, {.height = 8, .width = 8}, 0, clock);
  EXPECT_THAT(std::string(model.status().message()),
              HasSubstr("16x16 and more; the data's are 8x8"));
}

TEST(Resnet18Test, BuffersMakeASnapshotComplete) {
  const auto trained = Make(proto::Model::resnet18, kGray28);
  const auto fresh = Make(proto::Model::resnet18, kGray28);
  const std::vector<float> initial = fresh->SaveBuffers();
  // Mean and variance of 4800 normalised channels.
  EXPECT_EQ(initial.size(), 9600u);
  Train(*trained, PatternBatch(kGray28, 4), 0.01, 2);
  const std::vector<float> buffers = trained->SaveBuffers();
  EXPECT_NE(buffers, initial);
  std::ranges::copy(trained->parameters().host(), fresh->parameters().data);
  const Dataset dataset = PatternDataset(kGray28, 4);
  EXPECT_NE(fresh->Evaluate(dataset)->loss, trained->Evaluate(dataset)->loss);
  fresh->LoadBuffers(buffers);
  EXPECT_EQ(fresh->SaveBuffers(), buffers);
  EXPECT_EQ(fresh->Evaluate(dataset)->loss, trained->Evaluate(dataset)->loss);
  EXPECT_DEATH(fresh->LoadBuffers(std::span(buffers).first(10)), "buffers that this model saved");
}

TEST(TorchThreadsTest, IsOneOnceAModelIsMade) {
  Make(proto::Model::mlp, kGray28);
  EXPECT_EQ(TorchThreads(), 1);
}

TEST(BlasTest, IsOpenBlasBuiltForOpenMp) {
  // The link flags of @torch decide, whatever update-alternatives says.
  EXPECT_THAT(DescribeBlas(), HasSubstr("/openblas-openmp/"));
}

double LossOfMlp() {
  return Make(proto::Model::mlp, kGray28)->ForwardBackward(PatternBatch(kGray28, 64), 1, [](int) {
  });
}

TEST(BlasTest, AProcessorThatOpenBlasDoesNotKnowGetsKernelsOfItsVectors) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no wider kernels than the fallback's";
  ASSERT_TRUE(TakeBlasKernels("Prescott"));  // as for an unknown one
  ASSERT_THAT(DescribeBlas(), HasSubstr("(Prescott)"));
  const double loss = LossOfMlp();
  EXPECT_THAT(TakeBlasKernelsOfProcessor(), HasSubstr(" instead of Prescott"));
  const std::string taken = DescribeBlas();
  EXPECT_THAT(taken, AnyOf(HasSubstr("(SkylakeX)"), HasSubstr("(Haswell)")));
  EXPECT_NEAR(LossOfMlp(), loss, 1e-5);
  // A second time there is nothing to do.
  EXPECT_EQ(TakeBlasKernelsOfProcessor(), "");
  EXPECT_EQ(DescribeBlas(), taken);
}

TEST(BlasTest, KernelsThatTheUserChoseStay) {
  ASSERT_TRUE(TakeBlasKernels("Prescott"));
  setenv("OPENBLAS_CORETYPE", "Prescott", 1);
  EXPECT_EQ(TakeBlasKernelsOfProcessor(), "");
  EXPECT_THAT(DescribeBlas(), HasSubstr("(Prescott)"));
  unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace
}  // namespace crossover::worker
