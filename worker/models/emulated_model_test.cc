#include "worker/models/emulated_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace crossover::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr int64_t kMs = 1'000'000;

// Two layers with gradients around one without; forward 1 + 2 + 3 ms, backward 10, 20, 30.
proto::Job TwoLayers() {
  proto::Job job;
  job.set_model(proto::Model::emulated);
  job.set_workers(2);
  for (int i = 1; i <= 3; ++i) {
    proto::Layer& layer = *job.mutable_emulated()->add_layers();
    layer.set_name(std::to_string(i));
    layer.set_forward_ms(i);
    layer.set_backward_ms(10 * i);
    layer.set_gradient_bytes(i == 2 ? 0 : 40'000 * i);
  }
  return job;
}

Batch SomeBatch() {
  Batch batch;
  batch.labels = {0};
  return batch;
}

// Late by so much whenever it sleeps at all, and each look takes some time.
class LazyClock final : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_ += 1000; }
  void SleepNs(int64_t duration_ns) override {
    if (duration_ns > 0) now_ns_ += duration_ns + kMs;
  }

 private:
  mutable int64_t now_ns_ = 0;
};

class EmulatedModelTest : public testing::Test {
 protected:
  using Ready = std::vector<std::pair<int, int64_t>>;  // parameter, ms since the call

  std::unique_ptr<Model> Make(const proto::Job& job, int rank = 0) {
    auto model = MakeEmulatedModel(job, rank, clock_, nullptr);
    EXPECT_TRUE(model.ok()) << model.status();
    return std::move(model).value();
  }

  // One call; what it announced when, and when it ended.
  Ready Call(Model& model, double weight = 1) {
    Ready ready;
    const int64_t start_ns = clock_.NowNs();
    model.ForwardBackward(SomeBatch(), weight, [&](int parameter) {
      ready.push_back({parameter, (clock_.NowNs() - start_ns) / kMs});
    });
    took_ms_ = (clock_.NowNs() - start_ns) / kMs;
    return ready;
  }

  ManualClock clock_;
  int64_t took_ms_ = 0;
};

TEST_F(EmulatedModelTest, HasAParameterForEachLayerWithGradientsTheLastFirst) {
  const auto model = Make(TwoLayers());
  ASSERT_EQ(model->layout().parameters.size(), 2u);
  EXPECT_EQ(model->layout().parameters[0].name, "3");
  EXPECT_EQ(model->layout().length, 40'000);
  EXPECT_EQ(model->gradients().length, 40'000u);
}

TEST_F(EmulatedModelTest, GradientsBecomeReadyInBackwardOrderInTheirTime) {
  const auto model = Make(TwoLayers());
  // 6 forward, 30 of the last layer; then 20 of the one without gradients, and 10.
  EXPECT_THAT(Call(*model), ElementsAre(Pair(0, 36), Pair(1, 66)));
  EXPECT_EQ(took_ms_, 66);
}

TEST_F(EmulatedModelTest, TheTimeOfLayersBelowTheLastGradientCountsToo) {
  proto::Job job = TwoLayers();
  job.mutable_emulated()->mutable_layers(0)->set_gradient_bytes(0);
  const auto model = Make(job);
  EXPECT_THAT(Call(*model), ElementsAre(Pair(0, 36)));
  EXPECT_EQ(took_ms_, 66);
}

TEST_F(EmulatedModelTest, AMicroBatchTakesItsPart) {
  proto::Job job = TwoLayers();
  job.set_accumulation(2);
  const auto model = Make(job);
  EXPECT_THAT(Call(*model, 0.5), ElementsAre(Pair(0, 18), Pair(1, 33)));
  EXPECT_EQ(took_ms_, 33);
}

TEST_F(EmulatedModelTest, ScalesChangeTimesAndSizes) {
  proto::Job job = TwoLayers();
  job.mutable_emulated()->set_time_scale(4);
  job.mutable_emulated()->set_compute_speed(2);
  job.mutable_emulated()->set_bytes_scale(100);
  const auto model = Make(job);
  EXPECT_EQ(model->layout().length, 400);
  EXPECT_THAT(Call(*model), ElementsAre(Pair(0, 72), Pair(1, 132)));
}

TEST_F(EmulatedModelTest, LateWakeUpsAndWorkDoNotAddUp) {
  LazyClock clock;
  proto::Job job = TwoLayers();
  for (int i = 0; i < 100; ++i) *job.mutable_emulated()->add_layers() = job.emulated().layers(2);
  const auto model = *MakeEmulatedModel(job, 0, clock, nullptr);
  const int64_t start_ns = clock.NowNs();
  model->ForwardBackward(SomeBatch(), 1, {});
  const int64_t profile_ns = (6 + 60 + 100 * 33) * kMs;
  // One late wake-up at the end and a few looks at the clock, where 103 layers were waited for.
  EXPECT_GE(clock.NowNs() - start_ns, profile_ns);
  EXPECT_LT(clock.NowNs() - start_ns, profile_ns + kMs + kMs / 2);
}

TEST_F(EmulatedModelTest, GradientsAreAddedByWeight) {
  const auto model = Make(TwoLayers());
  const std::span<float> gradients = model->gradients().host();
  Call(*model);
  const std::vector<float> once(gradients.begin(), gradients.end());
  Call(*model, 0.5);
  for (size_t i = 0; i < once.size(); ++i) {
    ASSERT_FLOAT_EQ(gradients[i], 1.5f * once[i]) << i;
    ASSERT_GE(std::abs(once[i]), 0x1p-12f) << i;
    ASSERT_LE(std::abs(once[i]), 0x1p-10f) << i;
  }
}

TEST_F(EmulatedModelTest, TheSeedDecidesTheValues) {
  proto::Job job = TwoLayers();
  const auto first = Make(job);
  const auto same = Make(job, 1);
  job.set_seed(2);
  const auto other = Make(job);
  const auto values = [](Model& model) {
    const std::span<const float> all = model.parameters().host();
    return std::vector<float>(all.begin(), all.end());
  };
  EXPECT_EQ(values(*first), values(*same));
  EXPECT_NE(values(*first), values(*other));
}

TEST_F(EmulatedModelTest, AStragglersGradientsAreLateEachInItsTurn) {
  proto::Job job = TwoLayers();
  job.mutable_straggler()->set_rank(1);
  job.mutable_straggler()->set_factor(2);
  EXPECT_THAT(Call(*Make(job, 1)), ElementsAre(Pair(0, 72), Pair(1, 132)));
  EXPECT_THAT(Call(*Make(job, 0)), ElementsAre(Pair(0, 36), Pair(1, 66)));
}

TEST_F(EmulatedModelTest, BurstsLastForWholeSteps) {
  proto::Job job = TwoLayers();
  job.set_accumulation(2);
  job.mutable_straggler()->set_rank(0);
  job.mutable_straggler()->set_factor(2);
  job.mutable_straggler()->set_burst_steps(1);
  job.mutable_straggler()->set_burst_share(0.5);
  const auto model = Make(job);
  int slow = 0;
  for (int step = 0; step < 40; ++step) {
    Call(*model, 0.5);
    const int64_t first_ms = took_ms_;
    Call(*model, 0.5);
    EXPECT_EQ(took_ms_, first_ms) << step;
    slow += first_ms > 33 ? 1 : 0;
  }
  EXPECT_GT(slow, 0);
  EXPECT_LT(slow, 40);
}

TEST_F(EmulatedModelTest, LearnsNothing) {
  const auto model = Make(TwoLayers());
  EXPECT_EQ(model->ForwardBackward(SomeBatch(), 1, {}), 0);
  EXPECT_FALSE(model->Evaluate(Dataset()).has_value());
  EXPECT_TRUE(model->SaveBuffers().empty());
}

TEST_F(EmulatedModelTest, AJobWithoutLayersIsRefused) {
  proto::Job job;
  job.set_model(proto::Model::emulated);
  EXPECT_THAT(std::string(MakeEmulatedModel(job, 0, clock_, nullptr).status().message()),
              HasSubstr("--emulated.profile=resnet50"));
}

}  // namespace
}  // namespace crossover::worker
