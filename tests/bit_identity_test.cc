// In deterministic mode the single process, the synchronous parameter server and
// AllReduce give the same bits, whatever the number of servers, the sizes of buckets
// and parts, or the order in which messages arrive.
#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

proto::Job DeterministicJob(int workers, proto::OptimizerKind::Name optimizer) {
  proto::Job job = SmallJob(MakeSmallData(1200));
  job.set_deterministic(true);
  job.set_workers(workers);
  job.mutable_optimizer()->set_name(optimizer);
  job.mutable_optimizer()->set_weight_decay(1e-4);
  if (optimizer == proto::OptimizerKind::adam) job.mutable_learning_rate()->set_base(0.001);
  return job;
}

// The bits: as floats +0 would equal -0.
using Bits = std::vector<uint32_t>;
Bits BitsOf(const std::vector<float>& values) {
  Bits bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

Bits ParametersOf(const proto::Job& job, const std::string& name) {
  const absl::StatusOr<Outcome> outcome = RunJob(job, name);
  EXPECT_TRUE(outcome.ok()) << name << ": " << outcome.status();
  if (!outcome.ok()) return {};
  for (const std::vector<float>& parameters : outcome->parameters) {
    EXPECT_EQ(BitsOf(parameters), BitsOf(outcome->parameters.front()))
        << name << ": workers differ";
  }
  return BitsOf(outcome->parameters.front());
}

class BitIdentity : public testing::TestWithParam<std::tuple<int, proto::OptimizerKind::Name>> {};

TEST_P(BitIdentity, SingleServersAndAllReduceAgree) {
  const auto [workers, optimizer] = GetParam();
  proto::Job job = DeterministicJob(workers, optimizer);
  job.set_strategy(proto::Strategy::single);
  const Bits single = ParametersOf(job, absl::StrCat("single-", workers));
  ASSERT_FALSE(single.empty());

  job.set_strategy(proto::Strategy::allreduce_ring);
  job.mutable_buckets()->set_first_bytes(10000);
  job.mutable_buckets()->set_bytes(100000);
  job.mutable_allreduce()->set_chunk_bytes(4004);
  EXPECT_EQ(ParametersOf(job, absl::StrCat("allreduce-", workers)), single);
  job.mutable_allreduce()->set_transport(proto::Transport::shared_memory);
  // One worker shares memory with nobody.
  if (workers > 1 && optimizer == proto::OptimizerKind::nesterov) {
    EXPECT_EQ(ParametersOf(job, absl::StrCat("shared-memory-", workers)), single);
  }
  job.mutable_allreduce()->set_transport(proto::Transport::grpc);
  if (optimizer == proto::OptimizerKind::nesterov) {
    EXPECT_EQ(ParametersOf(job, absl::StrCat("grpc-", workers)), single);
  }

  job.set_strategy(proto::Strategy::ps_sync);
  for (int servers = 1; servers <= 3; ++servers) {
    job.set_servers(servers);
    job.mutable_ps()->set_part_bytes(servers == 2 ? 65536 : 12292);
    job.mutable_buckets()->set_first_bytes(servers == 3 ? 1 << 20 : 5000);
    EXPECT_EQ(ParametersOf(job, absl::StrCat("ps_sync-", workers, "-", servers)), single)
        << servers << " servers";
  }
}

INSTANTIATE_TEST_SUITE_P(All, BitIdentity,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(proto::OptimizerKind::sgd,
                                                          proto::OptimizerKind::nesterov,
                                                          proto::OptimizerKind::adam)),
                         [](const auto& info) {
                           return absl::StrCat(
                               proto::OptimizerKind::Name_Name(std::get<1>(info.param)), "_",
                               std::get<0>(info.param), "_workers");
                         });

// Rank 0's contributions, which the sums begin with, come last.
TEST(BitIdentity, TheOrderOfArrivalDoesNotMatter) {
  proto::Job job = DeterministicJob(3, proto::OptimizerKind::nesterov);
  job.set_strategy(proto::Strategy::ps_sync);
  const Bits even = ParametersOf(job, "arrival-even");
  job.mutable_straggler()->set_rank(0);
  job.mutable_straggler()->set_factor(5);
  EXPECT_EQ(ParametersOf(job, "arrival-ps"), even);
  job.set_strategy(proto::Strategy::allreduce_ring);
  EXPECT_EQ(ParametersOf(job, "arrival-allreduce"), even);
}

// The norm is of all parameters, however they are cut.
TEST(BitIdentity, ClippingByTheNormAgrees) {
  proto::Job job = DeterministicJob(3, proto::OptimizerKind::nesterov);
  job.set_strategy(proto::Strategy::single);
  const Bits unclipped = ParametersOf(job, "unclipped");
  job.mutable_optimizer()->set_clip_norm(0.25);
  const Bits single = ParametersOf(job, "clipped-single");
  EXPECT_NE(single, unclipped);
  job.mutable_buckets()->set_first_bytes(5000);
  job.set_strategy(proto::Strategy::allreduce_ring);
  EXPECT_EQ(ParametersOf(job, "clipped-allreduce"), single);
  job.set_strategy(proto::Strategy::ps_sync);
  for (int servers = 1; servers <= 3; ++servers) {
    job.set_servers(servers);
    job.mutable_ps()->set_part_bytes(servers == 2 ? 65536 : 12292);
    EXPECT_EQ(ParametersOf(job, absl::StrCat("clipped-ps-", servers)), single);
  }
}

// Nor does it matter whether what travels is encrypted.
TEST(BitIdentity, TlsDoesNotMatter) {
  proto::Job job = DeterministicJob(2, proto::OptimizerKind::nesterov);
  job.set_strategy(proto::Strategy::single);
  const Bits single = ParametersOf(job, "open-single");
  job.set_tls(true);
  job.set_strategy(proto::Strategy::ps_sync);
  EXPECT_EQ(ParametersOf(job, "tls-ps"), single);
  job.set_strategy(proto::Strategy::allreduce_ring);
  job.mutable_allreduce()->set_transport(proto::Transport::grpc);
  EXPECT_EQ(ParametersOf(job, "tls-allreduce"), single);
}

// With another seed the parameters differ: equality above is not that of constants.
TEST(BitIdentity, AnotherSeedGivesOtherParameters) {
  proto::Job job = DeterministicJob(2, proto::OptimizerKind::sgd);
  job.set_strategy(proto::Strategy::single);
  const Bits first = ParametersOf(job, "seed-1");
  job.set_seed(2);
  EXPECT_NE(ParametersOf(job, "seed-2"), first);
}

}  // namespace
}  // namespace crossover::tests
