// Every job in this folder is read and valid, with each strategy that it compares.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/job.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

std::vector<std::filesystem::path> Specs() {
  std::vector<std::filesystem::path> specs;
  for (const auto& entry : std::filesystem::directory_iterator("experiments/specs")) {
    if (entry.path().extension() == ".textproto") specs.push_back(entry.path());
  }
  std::sort(specs.begin(), specs.end());
  return specs;
}

absl::StatusOr<proto::Job> ReadSpec(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ParseJob(text, path.string());
}

TEST(SpecsTest, EverySpecIsReadAndValid) {
  const std::vector<std::filesystem::path> specs = Specs();
  EXPECT_GE(specs.size(), 5u);
  for (const auto& path : specs) {
    const auto job = ReadSpec(path);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(ValidateJob(*job), absl::OkStatus()) << path;
    for (int strategy : job->comparison().strategies()) {
      proto::Job one = *job;
      one.set_strategy(static_cast<proto::Strategy::Name>(strategy));
      EXPECT_EQ(ValidateJob(one), absl::OkStatus()) << path << " " << StrategyName(one.strategy());
    }
    // Fashion-MNIST's size; CIFAR-10's 50000 give as sound a plan.
    const auto plan = MakeStepPlan(*job, 60000);
    EXPECT_TRUE(plan.ok()) << path << ": " << plan.status();
  }
}

TEST(SpecsTest, TheDefaultSpecSpellsOutTheDefaultJob) {
  const auto job = ReadSpec("experiments/specs/default.textproto");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(JobFingerprint(*job), JobFingerprint(proto::Job()));
  // Nothing is left out, name and comparison included.
  EXPECT_EQ(PrintJob(*job), PrintJob(WithDefaults(proto::Job())));
}

TEST(SpecsTest, TheDeterministicSpecTrainsFiftySteps) {
  const auto job = ReadSpec("experiments/specs/deterministic.textproto");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(MakeStepPlan(*job, 60000)->total_steps, 50);
  EXPECT_EQ(WithDefaults(*job).allreduce().algorithm(), proto::AllReduce::direct);
}

}  // namespace
}  // namespace crossover
