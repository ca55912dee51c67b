#include "worker/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace crossover::worker {
namespace {

using testing::ElementsAre;

// Two parameters of one value each; the gradient of both is the mean label of the
// batch, so that it shows which samples were used.
class FakeModel final : public Model {
 public:
  FakeModel() {
    AppendParameter(layout_, "late", {1});
    AppendParameter(layout_, "early", {1});
  }
  const FlatLayout& layout() const override { return layout_; }
  DeviceSpan parameters() override { return {parameters_.data(), 2}; }
  DeviceSpan gradients() override { return {gradients_.data(), 2}; }
  double ForwardBackward(const Batch& batch, double weight,
                         const std::function<void(int)>& ready) override {
    const double mean =
        static_cast<double>(std::accumulate(batch.labels.begin(), batch.labels.end(), int64_t{0})) /
        static_cast<double>(batch.size());
    for (const int parameter : {0, 1}) {
      gradients_[parameter] += static_cast<float>(weight * mean);
      if (parameter == 0 || !skip_early) ready(parameter);
    }
    clock->Advance(10);
    return mean;
  }
  std::optional<EvaluationResult> Evaluate(const Dataset&) override { return std::nullopt; }
  std::vector<float> SaveBuffers() override { return {7}; }
  void LoadBuffers(std::span<const float>) override {}

  ManualClock* clock = nullptr;
  bool skip_early = false;

 private:
  FlatLayout layout_;
  std::vector<float> parameters_ = {0, 0};
  std::vector<float> gradients_ = {0, 0};
};

// Writes down what it is told, and the gradients at the end of a step.
class RecordingStrategy final : public Strategy {
 public:
  explicit RecordingStrategy(Model& model) : model_(model) {}
  absl::Status Start() override { return absl::OkStatus(); }
  void BeginStep(int64_t step) override { told.push_back("begin " + std::to_string(step)); }
  void BucketReady(int bucket) override {
    told.push_back("bucket " + std::to_string(bucket));
    if (clock != nullptr) ready_ns.push_back(clock->NowNs());
  }
  absl::Status EndStep() override {
    told.push_back("end");
    gradients.push_back(model_.gradients().data[0]);
    return fail ? absl::UnavailableError("server 1 was lost") : absl::OkStatus();
  }
  int64_t NextStep(int64_t step) const override { return step + stride; }
  absl::Status Finish() override { return absl::OkStatus(); }
  StrategyCounters counters() const override { return {}; }

  std::vector<std::string> told;
  std::vector<float> gradients;
  std::vector<int64_t> ready_ns;
  const Clock* clock = nullptr;
  bool fail = false;
  int64_t stride = 1;

 private:
  Model& model_;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() : timeline_(clock_), strategy_(model_) {
    model_.clock = &clock_;
    data_.shape = {.channels = 1, .height = 1, .width = 1, .classes = 10};
    for (uint8_t i = 0; i < 8; ++i) {
      data_.pixels.push_back(i);
      data_.labels.push_back(i);
    }
    data_.normalization = {.mean = {0}, .standard_deviation = {1}};
    job_.set_workers(2);
    job_.set_global_batch(4);
    job_.set_steps(2);
    job_.set_epochs(0);
    job_.mutable_measure()->set_warmup_steps(0);
    buckets_ = MakeBucketPlan(model_.layout(), 4, 4);  // one bucket a parameter
  }

  absl::StatusOr<TrainingResult> Run(const std::vector<int>& ranks, bool keep_snapshots = false) {
    plan_ = *MakeStepPlan(job_, data_.size());
    std::vector<BatchLoader*> shards;
    for (const int rank : ranks) {
      loaders_.push_back(std::make_unique<BatchLoader>(
          data_, plan_,
          BatchLoader::Options{.accumulation = job_.accumulation(), .rank = rank, .ranks = 2},
          [](int64_t n, uint64_t, int64_t) {
            std::vector<int64_t> identity(n);
            std::iota(identity.begin(), identity.end(), 0);
            return identity;
          }));
      shards.push_back(loaders_.back().get());
    }
    Trainer trainer({.job = job_,
                     .plan = plan_,
                     .buckets = buckets_,
                     .rank = ranks.front(),
                     .shards = shards,
                     .keep_snapshots = keep_snapshots,
                     .after_step =
                         [this](int64_t, int64_t samples, double) {
                           samples_ += samples;
                           return after_step_;
                         }},
                    model_, strategy_, timeline_, clock_);
    return trainer.Run();
  }

  ManualClock clock_;
  Timeline timeline_;
  FakeModel model_;
  RecordingStrategy strategy_;
  Dataset data_;
  proto::Job job_;
  StepPlan plan_;
  BucketPlan buckets_;
  std::vector<std::unique_ptr<BatchLoader>> loaders_;
  int64_t samples_ = 0;
  absl::Status after_step_;
};

TEST_F(TrainerTest, AnnouncesBucketsAsTheyBecomeReady) {
  ASSERT_TRUE(Run({0}).ok());
  EXPECT_THAT(strategy_.told, ElementsAre("begin 0", "bucket 0", "bucket 1", "end", "begin 1",
                                          "bucket 0", "bucket 1", "end"));
  EXPECT_EQ(samples_, 4);
}

TEST_F(TrainerTest, ParametersWithoutAGradientAreAnnouncedAtTheEnd) {
  model_.skip_early = true;
  ASSERT_TRUE(Run({0}).ok());
  EXPECT_THAT(strategy_.told, ElementsAre("begin 0", "bucket 0", "bucket 1", "end", "begin 1",
                                          "bucket 0", "bucket 1", "end"));
}

// Rank 0 has samples 0 2 4 6: the first step's mean label is 1, the second's 5.
TEST_F(TrainerTest, GradientsAreOfTheStepAlone) {
  ASSERT_TRUE(Run({0}).ok());
  EXPECT_THAT(strategy_.gradients, ElementsAre(1, 5));
}

TEST_F(TrainerTest, AccumulationAnnouncesOnceAndGivesTheLargeBatchsGradient) {
  job_.set_accumulation(2);
  ASSERT_TRUE(Run({0}).ok());
  EXPECT_THAT(strategy_.gradients, ElementsAre(1, 5));
  EXPECT_EQ(strategy_.told.size(), 8u);
}

// Rank 1 has samples 1 3 5 7.
TEST_F(TrainerTest, SeveralShardsAreSummedInOrder) {
  ASSERT_TRUE(Run({0, 1}).ok());
  EXPECT_THAT(strategy_.gradients, ElementsAre(1 + 2, 5 + 6));
  EXPECT_EQ(samples_, 8);
}

TEST_F(TrainerTest, StepsAreOnTheTimeline) {
  ASSERT_TRUE(Run({0}).ok());
  const std::vector<StepRecord> steps = timeline_.steps();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].compute_ns, 10);
  EXPECT_EQ(steps[1].samples, 2);
  EXPECT_EQ(steps[1].loss, 5);
}

TEST_F(TrainerTest, TheStragglerTakesLonger) {
  job_.mutable_straggler()->set_rank(0);
  job_.mutable_straggler()->set_factor(3);
  ASSERT_TRUE(Run({0}).ok());
  EXPECT_EQ(timeline_.steps()[0].compute_ns, 30);
}

TEST_F(TrainerTest, AStragglersBucketsAreLate) {
  job_.mutable_straggler()->set_rank(0);
  job_.mutable_straggler()->set_factor(3);
  strategy_.clock = &clock_;
  ASSERT_TRUE(Run({0}).ok());
  EXPECT_THAT(strategy_.ready_ns, ElementsAre(30, 30, 60, 60));
}

TEST_F(TrainerTest, AStragglerInBurstsIsSlowInSomeSteps) {
  job_.set_steps(200);
  job_.mutable_straggler()->set_rank(0);
  job_.mutable_straggler()->set_factor(3);
  job_.mutable_straggler()->set_burst_steps(4);
  ASSERT_TRUE(Run({0}).ok());
  StragglerSchedule schedule(job_);
  int slow = 0;
  for (const StepRecord& step : timeline_.steps()) {
    const double factor = schedule.Factor(0, step.step);
    EXPECT_EQ(step.compute_ns, factor * 10) << step.step;
    slow += factor > 1 ? 1 : 0;
  }
  EXPECT_GT(slow, 0);
  EXPECT_LT(slow, 200);
}

TEST_F(TrainerTest, AnEmulatedModelIsSlowByItself) {
  job_.set_model(proto::Model::emulated);
  job_.set_global_batch(8);  // all of the data: an epoch is a step
  job_.mutable_straggler()->set_rank(0);
  job_.mutable_straggler()->set_factor(3);
  ASSERT_TRUE(Run({0}).ok());
  EXPECT_EQ(timeline_.steps()[0].compute_ns, 10);
}

TEST_F(TrainerTest, KeepsSnapshotsExceptOfTheLastStep) {
  job_.set_steps(5);
  job_.mutable_measure()->set_evaluate_every_steps(2);
  const auto result = Run({0}, /*keep_snapshots=*/true);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->snapshots.size(), 2u);
  EXPECT_EQ(result->snapshots[0].step, 2);
  EXPECT_EQ(result->snapshots[1].step, 4);
  EXPECT_EQ(result->snapshots[0].parameters.size(), 2u);
  EXPECT_THAT(result->snapshots[0].buffers, ElementsAre(7));
}

TEST_F(TrainerTest, GoesOnWithTheStepThatTheStrategySays) {
  job_.set_steps(8);
  job_.mutable_measure()->set_evaluate_every_steps(2);
  strategy_.stride = 3;
  const auto result = Run({0}, /*keep_snapshots=*/true);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(strategy_.gradients.size(), 3u);  // steps 0, 3 and 6
  EXPECT_EQ(timeline_.steps().back().step, 6);
  ASSERT_EQ(result->snapshots.size(), 2u);
  EXPECT_EQ(result->snapshots[0].step, 3);  // of 2, which it left out
  EXPECT_EQ(result->snapshots[1].step, 6);  // of 4 and 6
}

TEST_F(TrainerTest, AStrategysErrorEndsTheTraining) {
  strategy_.fail = true;
  EXPECT_EQ(Run({0}).status().message(), "server 1 was lost");
  EXPECT_EQ(strategy_.gradients.size(), 1u);
}

TEST_F(TrainerTest, AnAbortEndsTheTrainingAfterTheStep) {
  after_step_ = absl::AbortedError("worker 1 was lost");
  EXPECT_EQ(Run({0}).status().message(), "worker 1 was lost");
  EXPECT_EQ(strategy_.gradients.size(), 1u);
}

}  // namespace
}  // namespace crossover::worker
