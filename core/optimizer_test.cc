#include "core/optimizer.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::ElementsAreArray;

struct Case {
  std::string name;
  proto::OptimizerKind::Name kind;
  double weight_decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  std::vector<float> golden;  // parameters after kSteps
};

proto::Optimizer ConfigOf(const Case& c) {
  proto::Optimizer config;
  config.set_name(c.kind);
  config.set_momentum(0.9);
  config.set_weight_decay(c.weight_decay);
  config.set_beta1(c.beta1);
  config.set_beta2(c.beta2);
  config.set_epsilon(c.epsilon);
  return config;
}

constexpr int kSteps = 3;
const std::vector<float> kInitial = {1.0f, -0.5f, 0.25f, 3.0f, -2.0f};
const std::vector<float> kGradients[kSteps] = {{0.5f, -1.0f, 0.125f, 0.0f, 2.0f},
                                               {-0.75f, 0.3f, 0.1f, 1.5f, -0.2f},
                                               {0.01f, 0.02f, -0.03f, 0.04f, -5.0f}};
const double kLearningRates[kSteps] = {0.1, 0.05, 0.2};

// The golden values are PyTorch 1.13.1's: torch.optim.SGD(momentum=0.9) and
// torch.optim.Adam(foreach=False) on the CPU, kInitial, kGradients and
// kLearningRates as above, run with ATEN_CPU_CAPABILITY=default so that PyTorch
// too used no fused multiply-add. They are equal to the last bit.
const Case kCases[] = {
    {.name = "sgd",
     .kind = proto::OptimizerKind::sgd,
     .golden = {0x1.f89376p-1f, -0x1.ad0e58p-2f, 0x1.e872bp-3f, 0x1.756042p+1f, -0x1.30a3d8p+0f}},
    {.name = "sgd_decay",
     .kind = proto::OptimizerKind::sgd,
     .weight_decay = 0.01,
     .golden = {0x1.f6cfb6p-1f, -0x1.ab7dbp-2f, 0x1.e6be04p-3f, 0x1.740d74p+1f, -0x1.2eba16p+0f}},
    {.name = "momentum_decay",
     .kind = proto::OptimizerKind::momentum,
     .weight_decay = 0.01,
     .golden = {0x1.0283a4p+0f, -0x1.0d1d8cp-2f, 0x1.8af9aep-3f, 0x1.5001ecp+1f, -0x1.8d606cp+0f}},
    {.name = "nesterov_decay",
     .kind = proto::OptimizerKind::nesterov,
     .weight_decay = 0.01,
     .golden = {0x1.fb70d6p-1f, -0x1.a303f4p-3f, 0x1.7d9fep-3f, 0x1.48e53p+1f, -0x1.8e7f24p-1f}},
    {.name = "adam",
     .kind = proto::OptimizerKind::adam,
     .golden = {0x1.e60552p-1f, -0x1.427b4ep-2f, -0x1.a9fep-6f, 0x1.6c14bap+1f, -0x1.05c9b4p+1f}},
    {.name = "adam_decay",
     .kind = proto::OptimizerKind::adam,
     .weight_decay = 0.01,
     .beta1 = 0.8,
     .beta2 = 0.95,
     .epsilon = 1e-6,
     .golden = {0x1.e85bb6p-1f, -0x1.4e6da8p-2f, -0x1.007eb8p-6f, 0x1.5e96e4p+1f, -0x1.034dcep+1f}},
};

// The formulas as PyTorch's documentation writes them, for one parameter, in double.
class Reference {
 public:
  explicit Reference(const proto::Optimizer& config) : config_(config) {}

  double Update(double p, double g, double lr) {
    ++t_;
    const double mu = config_.momentum();
    g = g + config_.weight_decay() * p;
    switch (config_.name()) {
      case proto::OptimizerKind::sgd:
        return p - lr * g;
      case proto::OptimizerKind::momentum:
        m_ = mu * m_ + g;
        return p - lr * m_;
      case proto::OptimizerKind::nesterov:
        m_ = mu * m_ + g;
        return p - lr * (g + mu * m_);
      case proto::OptimizerKind::adam: {
        m_ = config_.beta1() * m_ + (1 - config_.beta1()) * g;
        v_ = config_.beta2() * v_ + (1 - config_.beta2()) * g * g;
        const double m_hat = m_ / (1 - std::pow(config_.beta1(), t_));
        const double v_hat = v_ / (1 - std::pow(config_.beta2(), t_));
        return p - lr * m_hat / (std::sqrt(v_hat) + config_.epsilon());
      }
    }
    return p;
  }

 private:
  proto::Optimizer config_;
  int t_ = 0;
  double m_ = 0;
  double v_ = 0;
};

std::vector<float> Random(size_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(size);
  for (float& value : values) {
    value = static_cast<float>(static_cast<int32_t>(generator())) * 1e-9f;
  }
  return values;
}

class OptimizerTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Kinds, OptimizerTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST_P(OptimizerTest, GivesPyTorchsBits) {
  Optimizer optimizer(ConfigOf(GetParam()), kInitial.size());
  std::vector<float> parameters = kInitial;
  for (int t = 0; t < kSteps; ++t) {
    optimizer.Apply(0, parameters, kGradients[t], kLearningRates[t], t);
  }
  EXPECT_THAT(parameters, ElementsAreArray(GetParam().golden));
}

TEST_P(OptimizerTest, FollowsTheWrittenFormula) {
  constexpr size_t kLength = 37;
  constexpr int kUpdates = 50;
  const proto::Optimizer config = ConfigOf(GetParam());
  Optimizer optimizer(config, kLength);
  std::vector<float> parameters = Random(kLength, 1);
  std::vector<double> expected(parameters.begin(), parameters.end());
  std::vector<Reference> references(kLength, Reference(config));
  for (int t = 0; t < kUpdates; ++t) {
    const std::vector<float> gradient = Random(kLength, 100 + t);
    optimizer.Apply(0, parameters, gradient, 0.01, t);
    for (size_t i = 0; i < kLength; ++i) {
      expected[i] = references[i].Update(expected[i], gradient[i], 0.01);
    }
  }
  for (size_t i = 0; i < kLength; ++i) EXPECT_NEAR(parameters[i], expected[i], 2e-5) << i;
}

TEST_P(OptimizerTest, CuttingTheStretchChangesNoBit) {
  constexpr size_t kLength = 1000;
  Optimizer whole_optimizer(ConfigOf(GetParam()), kLength);
  Optimizer cut_optimizer(ConfigOf(GetParam()), kLength);
  std::vector<float> whole = Random(kLength, 1);
  std::vector<float> cut = whole;
  for (int t = 0; t < 3; ++t) {
    const std::vector<float> gradient = Random(kLength, 10 + t);
    whole_optimizer.Apply(0, whole, gradient, 0.05, t);
    // Pieces of 1, 4, 7, ... values start at odd offsets and change with t.
    for (size_t start = 0, length = 1 + t; start < kLength; start += length, length += 3) {
      length = std::min(length, kLength - start);
      cut_optimizer.Apply(static_cast<int64_t>(start), std::span(cut).subspan(start, length),
                          std::span(gradient).subspan(start, length), 0.05, t);
    }
    ASSERT_EQ(cut, whole) << "update " << t;
  }
}

TEST_P(OptimizerTest, RangesAdvanceApart) {
  // The second half has its first update when the first half has its third.
  Optimizer both(ConfigOf(GetParam()), 10);
  Optimizer alone(ConfigOf(GetParam()), 5);
  std::vector<float> parameters(10);
  std::copy(kInitial.begin(), kInitial.end(), parameters.begin());
  std::copy(kInitial.begin(), kInitial.end(), parameters.begin() + 5);
  std::vector<float> expected = kInitial;
  for (int t = 0; t < 2; ++t) {
    both.Apply(0, std::span(parameters).first(5), kGradients[t], 0.1, t);
  }
  both.Apply(5, std::span(parameters).subspan(5), kGradients[0], 0.1, 0);
  alone.Apply(0, expected, kGradients[0], 0.1, 0);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), parameters.begin() + 5));
}

TEST_P(OptimizerTest, AnEmptyRangeIsFine) {
  Optimizer none(ConfigOf(GetParam()), 0);
  none.Apply(0, {}, {}, 0.1, 0);
  EXPECT_EQ(none.state_bytes(), 0);
  Optimizer some(ConfigOf(GetParam()), 3);
  some.Apply(3, {}, {}, 0.1, 0);
}

TEST(OptimizerStateTest, HoldsWhatTheRuleNeeds) {
  proto::Optimizer config;
  config.set_name(proto::OptimizerKind::sgd);
  EXPECT_EQ(Optimizer(config, 10).state_bytes(), 0);
  config.set_name(proto::OptimizerKind::momentum);
  EXPECT_EQ(Optimizer(config, 10).state_bytes(), 40);
  config.set_name(proto::OptimizerKind::nesterov);
  EXPECT_EQ(Optimizer(config, 10).state_bytes(), 40);
  config.set_name(proto::OptimizerKind::adam);
  EXPECT_EQ(Optimizer(config, 10).state_bytes(), 80);
}

TEST(OptimizerDeathTest, RefusesRangesOutsideTheStretch) {
  Optimizer optimizer(proto::Optimizer(), 4);
  std::vector<float> parameters(3);
  const std::vector<float> gradient(3);
  EXPECT_DEATH(optimizer.Apply(2, parameters, gradient, 0.1, 0), "lies in the stretch");
  EXPECT_DEATH(optimizer.Apply(-1, parameters, gradient, 0.1, 0), "lies in the stretch");
  EXPECT_DEATH(optimizer.Apply(0, parameters, std::span(gradient).first(2), 0.1, 0),
               "each parameter has one gradient");
  EXPECT_DEATH(optimizer.Apply(0, parameters, gradient, 0.1, -1), "updates count from 0");
}

}  // namespace
}  // namespace crossover
