#include "bench/comm/test_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crossover::bench {
namespace {

using testing::HasSubstr;

absl::StatusOr<TestPlan> PlanOf(const std::vector<std::string>& words) {
  PlanFlags values;
  FlagSet flags("test", "");
  AddPlanFlags(values, flags);
  std::vector<const char*> argv = {"test"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const auto parsed = flags.Parse(static_cast<int>(argv.size()), argv.data());
  if (!parsed.ok()) return parsed.status();
  return ReadPlan(values);
}

TEST(TestPlan, FlagsAreReadBack) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {},
           {"--op=reduce_scatter", "--type=bf16", "--reduce=max", "--sizes=4K:1M:x4"},
           {"--op=barrier"},
           {"--transport=shared_memory", "--buffers=shared", "--in_place=in"},
           {"--algorithm=halving_doubling", "--iterations=3", "--budget_s=1.5", "--limits=false"},
           {"--congestion_control=", "--deadline_s=2.5", "--warmup=7", "--in_place=out"}}) {
    const auto plan = PlanOf(words);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto again = PlanOf(FlagsOf(*plan));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(FlagsOf(*again), FlagsOf(*plan));
    EXPECT_TRUE(CheckSamePlans({TextOf(*plan), TextOf(*again)}).ok());
  }
}

TEST(TestPlan, ErrorsNameTheFlagAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"--op=sum", "--op=sum: not known; allowed: all_reduce, reduce_scatter"},
      {"--type=fp8", "allowed: fp32, fp16, bf16, fp64, int32, int64"},
      {"--reduce=product", "allowed: sum, average, min, max"},
      {"--sizes=4Q", "--sizes: '4Q' is no size"},
      {"--sizes=4K,4097",
       "--sizes: 4097 bytes are no whole number of fp32 values; fix: multiples of 4"},
      {"--algorithm=zig", "auto (of --op=all_reduce)"},
      {"--transport=rdma", "allowed: auto, tcp, shared_memory"},
      {"--costs=1,2,3", "allowed: four numbers"},
      {"--costs=1,2,x,4,5", "allowed: four numbers"},
      {"--costs=1,2,3,-4", "fix: --use_fit=FILE"},
      {"--buffers=some", "allowed: private, shared"},
      {"--in_place=yes", "allowed: both, in, out"}};
  const auto both = PlanOf({"--transport=shared_memory", "--algorithm=ring"});
  EXPECT_THAT(std::string(both.status().message()), HasSubstr("fix: --algorithm=auto"));
  for (const auto& [flag, expected] : cases) {
    const auto plan = PlanOf({flag});
    ASSERT_FALSE(plan.ok()) << flag;
    EXPECT_THAT(std::string(plan.status().message()), HasSubstr(expected));
  }
}

TEST(TestPlan, WhatTheOperationIgnoresIsRefused) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--reduce=max", "--op=all_gather"},
                                             {"--reduce=average", "--op=broadcast"},
                                             {"--sizes=4K", "--op=barrier"},
                                             {"--type=fp16", "--op=barrier"}}) {
    EXPECT_THAT(std::string(PlanOf(words).status().message()),
                HasSubstr(words[0] + ": means nothing for " + words[1].substr(5)));
  }
  for (const char* transport : {"tcp", "grpc", "inproc"}) {
    EXPECT_THAT(std::string(PlanOf({"--buffers=shared", std::string("--transport=") + transport})
                                .status()
                                .message()),
                HasSubstr("fix: --buffers=private"));
  }
}

TEST(TestPlan, RanksThatDisagreeSeeBothSides) {
  const TestPlan plan = *PlanOf({"--sizes=4K"});
  const TestPlan other = *PlanOf({"--sizes=8K", "--type=fp16"});
  const std::string said =
      std::string(CheckSamePlans({TextOf(plan), TextOf(plan), TextOf(other)}).message());
  EXPECT_THAT(said, HasSubstr("rank 0 has --sizes=4K and rank 2 --sizes=8K"));
  EXPECT_THAT(said, HasSubstr("rank 0 has --type=fp32 and rank 2 --type=fp16"));
  EXPECT_THAT(said, testing::Not(HasSubstr("rank 1")));
}

TEST(TestPlan, CostsReachTheRanks) {
  const auto plan = PlanOf({"--costs=5.5,0,4e-4,1e-4"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(plan->costs.has_value());
  EXPECT_EQ(plan->costs->beta_us_per_byte, 4e-4);
  const auto again = PlanOf(FlagsOf(*plan));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE(again->costs.has_value());
  EXPECT_EQ(again->costs->alpha_us, 5.5);
  EXPECT_FALSE(CheckSamePlans({TextOf(*plan), TextOf(*PlanOf({}))}).ok());
}

}  // namespace
}  // namespace crossover::bench
