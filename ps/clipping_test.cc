// Clipping by a norm that no part of a shard knows alone: one part by hand, then workers and
// servers together over 127.0.0.1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/gradient_norm.h"
#include "core/reduce.h"
#include "ps/exchange_testing.h"
#include "ps/shard.h"

namespace crossover::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Plain SGD with a rate of 1/2 at every step.
proto::Job ClipJob(int workers, double clip_norm) {
  proto::Job job;
  job.set_strategy(proto::Strategy::ps_sync);
  job.set_workers(workers);
  job.mutable_optimizer()->set_name(proto::OptimizerKind::sgd);
  job.mutable_optimizer()->set_clip_norm(clip_norm);
  job.mutable_learning_rate()->set_base(0.5);
  job.mutable_learning_rate()->set_warmup_steps(0);
  job.mutable_learning_rate()->set_decay(proto::LearningRate::constant);
  return job;
}

ShardPart Part(const proto::Job& job, std::vector<float> parameters) {
  ShardPart part(job, PolicyFor(job), static_cast<int64_t>(parameters.size()), 10);
  EXPECT_TRUE(part.Initialize(Payload(std::as_bytes(std::span(parameters)))).ok());
  return part;
}

absl::StatusOr<PushResult> Push(ShardPart& part, int worker, int64_t step, int64_t version,
                                const std::vector<float>& values) {
  return part.Push(worker, step, version, Payload(std::as_bytes(std::span(values))));
}

std::vector<float> Values(const ShardPart& part) {
  return {part.parameters().begin(), part.parameters().end()};
}

std::vector<int> Workers(const std::vector<Release>& released) {
  std::vector<int> workers;
  for (const Release& release : released) workers.push_back(release.worker);
  return workers;
}

// Two parts with the means (3, 0) and (0, 4), whose norm is 5.
TEST(Clipping, ClippedMeansWaitForTheNormOfAllParts) {
  const proto::Job job = ClipJob(2, 1);
  ShardPart one = Part(job, {10, 20});
  ShardPart two = Part(job, {30, 40});
  EXPECT_THAT(Push(one, 0, 0, 0, {2, 1})->told_squares, IsEmpty());
  EXPECT_THAT(Push(two, 0, 0, 0, {1, 5})->told_squares, IsEmpty());
  for (ShardPart* const part : {&one, &two}) {
    const auto last =
        Push(*part, 1, 0, 0, part == &one ? std::vector<float>{4, -1} : std::vector<float>{-1, 3});
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_THAT(last->told_squares, ElementsAre(0, 1));
    EXPECT_FALSE(last->applied);
    EXPECT_THAT(last->released, IsEmpty());
    EXPECT_EQ(part->version(), 0);
  }
  EXPECT_EQ(one.squares().Norm(), 3);
  EXPECT_EQ(two.squares().Norm(), 4);
  SquareSum squares = one.squares();
  squares.Add(two.squares());
  const auto first = one.GiveNorm(1, 0, squares.Norm());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Workers(*first), ElementsAre(1));  // worker 0 has yet to ask
  const auto factor = static_cast<float>(1 / 5.000001);
  EXPECT_THAT(Values(one), ElementsAre(10 - 0.5f * (3 * factor), 20));
  EXPECT_THAT(Values(two), ElementsAre(30, 40));
  ASSERT_TRUE(two.GiveNorm(1, 0, squares.Norm()).ok());
  EXPECT_THAT(Values(two), ElementsAre(30, 40 - 0.5f * (4 * factor)));
  EXPECT_EQ(two.version(), 1);
}

// The next step's pushes come before a slow worker has asked for this step's parameters.
TEST(Clipping, NormsOfAStepMayComeWhileTheNextIsPushed) {
  ShardPart part = Part(ClipJob(2, 100), {1});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  ASSERT_TRUE(Push(part, 1, 0, 0, {1}).ok());
  ASSERT_TRUE(part.GiveNorm(0, 0, 1).ok());
  EXPECT_THAT(Values(part), ElementsAre(0.5f));  // short enough: not clipped
  const auto early = Push(part, 0, 1, 1, {8});
  ASSERT_TRUE(early.ok()) << early.status();
  const auto slow = part.GiveNorm(1, 0, 1);
  ASSERT_TRUE(slow.ok()) << slow.status();
  ASSERT_THAT(Workers(*slow), ElementsAre(1));
  EXPECT_EQ(slow->front().step, 0);
  EXPECT_EQ(slow->front().version, 1);
  EXPECT_THAT(Values(part), ElementsAre(0.5f));
  EXPECT_THAT(Push(part, 1, 1, 1, {0})->told_squares, ElementsAre(0, 1));
  EXPECT_EQ(part.squares().Norm(), 4);
}

TEST(Clipping, RefusesNormsOutOfTurn) {
  ShardPart part = Part(ClipJob(2, 1), {1});
  EXPECT_THAT(part.GiveNorm(0, 0, 1).status().message(), HasSubstr("no update waits for it"));
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  EXPECT_THAT(part.GiveNorm(0, 0, 1).status().message(), HasSubstr("no update waits for it"));
  ASSERT_TRUE(Push(part, 1, 0, 0, {1}).ok());
  EXPECT_THAT(Push(part, 1, 1, 0, {1}).status().message(), HasSubstr("has not been answered"));
  EXPECT_THAT(part.GiveNorm(0, 1, 1).status().message(), HasSubstr("no update waits for it"));
  EXPECT_THAT(part.GiveNorm(0, 0, -0.5).status().message(), HasSubstr("-0.5; allowed: 0 or more"));
  ASSERT_TRUE(part.GiveNorm(0, 0, 1).ok());
  EXPECT_THAT(part.GiveNorm(0, 0, 1).status().message(), HasSubstr("no update waits for it"));
  EXPECT_THAT(part.GiveNorm(1, 0, 2).status().message(),
              HasSubstr("norm of worker 1 for step 0: 2, but others gave 1"));
  EXPECT_TRUE(part.GiveNorm(1, 0, 1).ok());
}

// A worker that contributed and left is told nothing, and the others go on.
TEST(Clipping, NormsDoNotNeedTheWorkersThatLeft) {
  ShardPart part = Part(ClipJob(2, 100), {1});
  ASSERT_TRUE(Push(part, 0, 0, 0, {1}).ok());
  EXPECT_THAT(part.Leave(0).stranded, IsEmpty());
  EXPECT_THAT(Push(part, 1, 0, 0, {1})->told_squares, ElementsAre(1));
  EXPECT_THAT(Workers(*part.GiveNorm(1, 0, 1)), ElementsAre(1));
  EXPECT_THAT(Values(part), ElementsAre(0.5f));
}

// The norm is summed over servers, parts and buckets, with one credit as with many. The mean
// gradient's norm is about 5.
TEST(Clipping, SyncEqualsASerialComputationToTheBit) {
  for (const int servers : {1, 3}) {
    for (const int64_t credits : {1, 8}) {
      proto::Job job = TestJob(proto::Strategy::ps_sync, 3, servers);
      job.set_deterministic(true);
      job.mutable_optimizer()->set_clip_norm(0.5);
      job.mutable_ps()->set_credits(credits);
      job.mutable_ps()->set_channels(servers);
      TestCluster cluster(job, {40, 0, 60});
      const std::vector<float> expected = SerialSync(job, 20);
      for (const auto& result : TrainAll(cluster, 20)) {
        EXPECT_EQ(result, expected) << servers << " servers, " << credits << " credits";
      }
      proto::Job unclipped = job;
      unclipped.mutable_optimizer()->set_clip_norm(0);
      EXPECT_GT(RelativeDifference(SerialSync(unclipped, 20), expected), 0.1);
      for (int server = 0; server < servers; ++server) {
        const proto::ServerReport report = cluster.server(server).report();
        EXPECT_EQ(report.global_phases(), 20);
        EXPECT_GT(report.global_phase_ns(), 0);
        EXPECT_EQ(report.payload_received_bytes(), report.parameter_bytes() * 3 * 20);
        EXPECT_EQ(report.payload_sent_bytes(), report.parameter_bytes() * 3 * 20);
      }
      EXPECT_THAT(cluster.lost(), testing::IsEmpty());
    }
  }
}

}  // namespace
}  // namespace crossover::ps
