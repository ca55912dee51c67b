#include "bench/comm/fit.h"

#include <gtest/gtest.h>

#include "bench/comm/test_plan.h"

namespace crossover::bench {
namespace {

using allreduce::Algorithm;
using allreduce::CostFit;
using allreduce::Kind;

Record RecordOf(Algorithm algorithm, int ranks, int64_t bytes, double time_us) {
  Record record;
  record.library = "crossover";
  record.transport = "tcp";
  record.algorithm = allreduce::NameOf(algorithm);
  record.op = WordFor(Kind::kAllReduce);
  record.ranks = ranks;
  record.bytes = bytes;
  record.time_us = time_us;
  return record;
}

double TimeUs(Algorithm algorithm, int ranks, int64_t bytes, const CostFit& costs) {
  const allreduce::Place place = {.rank = 0, .world_size = ranks, .root = 0, .host_of = {}};
  return allreduce::TimeUs(allreduce::CostsOf(Kind::kAllReduce, algorithm, place, bytes), costs,
                           costs);
}

TEST(Fit, FindsTheConstantsThatMadeTheTimes) {
  const CostFit made = {
      .alpha_us = 7, .message_us = 3, .beta_us_per_byte = 5e-4, .gamma_us_per_byte = 2e-4};
  std::vector<Record> records;
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kRecursiveDoubling,
                                    Algorithm::kHalvingDoubling, Algorithm::kDirect}) {
    for (const int ranks : {2, 4}) {
      for (const int64_t bytes : {4 << 10, 64 << 10, 1 << 20, 16 << 20}) {
        records.push_back(RecordOf(algorithm, ranks, bytes, TimeUs(algorithm, ranks, bytes, made)));
        Record peer = RecordOf(algorithm, ranks, bytes, 1);
        peer.library = "gloo";  // not ours: left out
        records.push_back(peer);
      }
    }
  }
  const std::vector<Fit> fits = FitCosts(records);
  ASSERT_EQ(fits.size(), 1);
  EXPECT_EQ(fits[0].points, 32);
  EXPECT_LT(fits[0].error_median, 1e-3);
  EXPECT_NEAR(fits[0].costs.alpha_us, 7, 0.07);
  EXPECT_NEAR(fits[0].costs.message_us, 3, 0.1);
  EXPECT_NEAR(fits[0].costs.beta_us_per_byte, 5e-4, 1e-5);
  EXPECT_NEAR(fits[0].costs.gamma_us_per_byte, 2e-4, 1e-5);
  EXPECT_NE(WriteFits(fits).find("\"transport\":\"tcp\""), std::string::npos);
}

TEST(Fit, WhatIsWrittenIsReadForJobsAndForTests) {
  Fit tcp;
  tcp.network = "1gbit";
  tcp.transport = "tcp";
  tcp.costs = {.alpha_us = 7, .message_us = 0, .beta_us_per_byte = 5e-4, .gamma_us_per_byte = 2e-4};
  tcp.points = 8;
  tcp.host = "lab1";
  const std::string text = WriteFits({tcp});
  const auto costs = CostsIn(text, "fit.jsonl", "tcp");
  ASSERT_TRUE(costs.ok()) << costs.status();
  EXPECT_EQ(costs->alpha_us, 7);
  EXPECT_EQ(costs->message_us, 0);
  EXPECT_EQ(costs->beta_us_per_byte, 5e-4);
  EXPECT_EQ(costs->gamma_us_per_byte, 2e-4);
  EXPECT_EQ(std::string(CostsIn(text, "fit.jsonl", "grpc").status().message()),
            "fit.jsonl: no fit of grpc, only of tcp; fix: comm_test --transport=grpc --fit=FILE");
  EXPECT_FALSE(CostsIn(text.substr(0, 40), "fit.jsonl", "tcp").ok());
}

TEST(Fit, AFileThatNobodyCouldUseIsRefused) {
  const auto refusal = [](const std::vector<Record>& records) {
    return std::string(CheckFits(FitCosts(records), "fit.jsonl").message());
  };
  const Record small = RecordOf(Algorithm::kRing, 2, 4 << 10, 20);
  const Record large = RecordOf(Algorithm::kRing, 2, 1 << 20, 900);
  EXPECT_EQ(refusal({small, large}), "");
  Record in_lab = small;
  in_lab.network = "1gbit";
  Record large_in_lab = large;
  large_in_lab.network = "1gbit";
  EXPECT_EQ(refusal({small, large, in_lab, large_in_lab}), "");
  EXPECT_EQ(refusal({}),
            "--fit=fit.jsonl: nothing to fit: no algorithm ran between ranks; fix: "
            "--transport=tcp or grpc, and at least two ranks");
  EXPECT_NE(refusal({RecordOf(Algorithm::kRing, 2, 0, 20)})
                .find("not written, for tcp: fit.jsonl:1 is a fit whose beta_us_per_byte is 0"),
            std::string::npos);
}

TEST(Fit, ConstantsAreNotNegative) {
  const std::vector<Fit> fits = FitCosts(
      {RecordOf(Algorithm::kRing, 2, 4 << 10, 100), RecordOf(Algorithm::kRing, 2, 1 << 20, 10)});
  ASSERT_EQ(fits.size(), 1);
  EXPECT_GT(fits[0].costs.alpha_us, 0);
  EXPECT_GE(fits[0].costs.beta_us_per_byte, 0);
  EXPECT_GE(fits[0].costs.gamma_us_per_byte, 0);
}

TEST(Fit, PathsThatAreNoSchedulesAreLeftOut) {
  Record record = RecordOf(Algorithm::kRing, 2, 4096, 10);
  record.algorithm = "fused";
  EXPECT_TRUE(FitCosts({record}).empty());
  record.algorithm = "ring";
  EXPECT_FALSE(FitCosts({record}).empty());
  record.ranks_per_node = 2;  // between which is memory
  EXPECT_TRUE(FitCosts({record}).empty());
  record.ranks_per_node = 1;
  record.op = WordFor(Kind::kBroadcast);  // which has no ring
  EXPECT_TRUE(FitCosts({record}).empty());
}

}  // namespace
}  // namespace crossover::bench
