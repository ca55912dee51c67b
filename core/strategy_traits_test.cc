#include "core/strategy_traits.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/averaging.h"

namespace crossover {
namespace {

proto::Job JobOf(proto::Strategy::Name strategy) {
  proto::Job job;
  job.set_strategy(strategy);
  job.set_workers(4);
  return job;
}

TEST(StrategyTraits, EveryNameHasARow) {
  for (int value = proto::Strategy::Name_MIN; value <= proto::Strategy::Name_MAX; ++value) {
    if (!proto::Strategy::Name_IsValid(value)) continue;
    const StrategyTraits traits = TraitsOf(JobOf(static_cast<proto::Strategy::Name>(value)));
    // One way for values to travel, or one process and none.
    const int ways = value == proto::Strategy::ps_groups ? 2 : 1;
    EXPECT_EQ(traits.one_process + traits.servers + traits.collective, ways) << value;
  }
}

TEST(StrategyTraits, LocalSgdGoesWhereItsParameterSays) {
  proto::Job job = JobOf(proto::Strategy::local_sgd);
  EXPECT_TRUE(TraitsOf(job).collective);
  job.mutable_local_sgd()->set_through(proto::LocalSgd::servers);
  EXPECT_TRUE(TraitsOf(job).servers);
  EXPECT_FALSE(TraitsOf(job).collective);
}

TEST(StrategyTraits, BytesAreTheFormulas) {
  EXPECT_EQ(BytesPerSynchronisation(JobOf(proto::Strategy::single), 4000), 0);
  EXPECT_EQ(BytesPerSynchronisation(JobOf(proto::Strategy::ps_async), 4000), 4000);
  EXPECT_EQ(BytesPerSynchronisation(JobOf(proto::Strategy::allreduce_ring), 4000), 6000);
  EXPECT_EQ(BytesPerSynchronisation(JobOf(proto::Strategy::local_sgd), 4000), 6000);
}

TEST(StrategyTraits, HalvesAreHalfTheBytesOfServersAlone) {
  proto::Job job;
  job.mutable_ps()->set_wire(proto::ParameterServer::bf16);
  job.set_strategy(proto::Strategy::ps_async);
  EXPECT_EQ(BytesPerSynchronisation(job, 100), 50);
  job.set_strategy(proto::Strategy::allreduce_ring);
  job.set_workers(2);
  EXPECT_EQ(BytesPerSynchronisation(job, 100), 100);
}

TEST(StrategyTraits, GroupsAreOfConsecutiveRanks) {
  proto::Job job = JobOf(proto::Strategy::ps_groups);
  job.set_workers(6);
  const std::vector<int> firsts = {0, 0, 0, 3, 3, 3};
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(GroupOf(job, rank).first, firsts[rank]);
    EXPECT_EQ(GroupOf(job, rank).size, 3);
    EXPECT_EQ(TalksToServers(job, rank), rank % 3 == 0);
  }
  EXPECT_EQ(UpdatesPerGlobalBatch(job), 2);
  // In a ring of 3: 4/3 M; 2/3 M to pass the parameters on; a third of M to the servers.
  EXPECT_DOUBLE_EQ(BytesPerSynchronisation(job, 3000), 4000 + 2000 + 1000);
  job.mutable_ps()->set_groups(6);
  EXPECT_DOUBLE_EQ(BytesPerSynchronisation(job, 3000), 3000);
  EXPECT_TRUE(TalksToServers(job, 5));
}

TEST(StrategyTraits, ElsewhereAllWorkersAreOneGroup) {
  proto::Job job = JobOf(proto::Strategy::ps_async);
  EXPECT_EQ(GroupOf(job, 3).first, 0);
  EXPECT_EQ(GroupOf(job, 3).size, 4);
  EXPECT_TRUE(TalksToServers(job, 3));
  EXPECT_EQ(UpdatesPerGlobalBatch(job), 4);
  EXPECT_FALSE(TalksToServers(JobOf(proto::Strategy::allreduce_ring), 0));
  EXPECT_EQ(UpdatesPerGlobalBatch(JobOf(proto::Strategy::ps_backup)), 1);
}

TEST(StrategyTraits, BytesAreThoseOfTheAlgorithm) {
  proto::Job job = JobOf(proto::Strategy::allreduce_ring);
  const auto bytes = [&job](proto::AllReduce::Algorithm algorithm, int workers) {
    job.mutable_allreduce()->set_algorithm(algorithm);
    job.set_workers(workers);
    return BytesPerSynchronisation(job, 4000);
  };
  EXPECT_EQ(bytes(proto::AllReduce::tree, 4), 6000);
  EXPECT_EQ(bytes(proto::AllReduce::recursive_doubling, 4), 2 * 4000);
  // Four ranks swap everything twice, and the fifth rank gives and gets everything.
  EXPECT_EQ(bytes(proto::AllReduce::recursive_doubling, 5), (4 * 2 + 2) / 5. * 4000);
  EXPECT_EQ(bytes(proto::AllReduce::exchange, 4), 3 * 4000);
  EXPECT_EQ(bytes(proto::AllReduce::exchange, 1), 0);
  EXPECT_EQ(bytes(proto::AllReduce::recursive_doubling, 1), 0);
  job.set_deterministic(true);
  EXPECT_EQ(bytes(proto::AllReduce::exchange, 4), 6000);
}

TEST(StrategyTraits, CountsSynchronisations) {
  EXPECT_EQ(Synchronisations(JobOf(proto::Strategy::single), 50), 0);
  EXPECT_EQ(Synchronisations(JobOf(proto::Strategy::ps_ssp), 50), 50);
  proto::Job local = JobOf(proto::Strategy::local_sgd);
  local.mutable_local_sgd()->set_first_phase_steps(0);
  EXPECT_EQ(Synchronisations(local, 50), 7);  // after 0, 8, ..., 48
  local.mutable_local_sgd()->set_first_phase_steps(10);
  EXPECT_EQ(Synchronisations(local, 50), 10 + 5);   // and after 10, 18, ..., 42
  local.set_strategy(proto::Strategy::ps_elastic);  // knows no first phase
  EXPECT_EQ(Synchronisations(local, 50), 6);        // after 7, 15, ..., 47
}

TEST(StrategyTraits, CountsWhatTheAveragingScheduleDoes) {
  for (const int64_t h : {1, 3, 8}) {
    for (const int64_t first : {0, 1, 10, 100}) {
      proto::Job local = JobOf(proto::Strategy::local_sgd);
      local.mutable_local_sgd()->set_local_steps(h);
      local.mutable_local_sgd()->set_first_phase_steps(first);
      const AveragingSchedule schedule = {.local_steps = h, .first_phase_steps = first};
      int64_t averagings = 0;
      for (int64_t step = 0; step < 50; ++step) {
        averagings += schedule.AveragesAfter(step);
        EXPECT_EQ(Synchronisations(local, step + 1), averagings) << h << " " << first;
      }
    }
  }
}

TEST(StrategyTraits, EvaluatesEveryEpochUnlessToldOtherwise) {
  proto::Job job;
  EXPECT_EQ(EvaluationInterval(job, 118), 118);
  job.mutable_measure()->set_evaluate_every_steps(7);
  EXPECT_EQ(EvaluationInterval(job, 118), 7);
}

}  // namespace
}  // namespace crossover
