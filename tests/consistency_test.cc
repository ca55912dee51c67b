// The servers' rules beyond sync, bounded and async, as real processes: everyone ends, workers and
// servers agree on what happened, and a run that diverges says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "core/strategy_traits.h"
#include "os/files.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kWorkers = 3;
constexpr int kSteps = 50;  // SmallJob's

proto::Job JobUnder(proto::Strategy::Name strategy) {
  proto::Job job = SmallJob(MakeSmallData(1200));
  job.set_strategy(strategy);
  job.set_workers(kWorkers);
  return job;
}

void ExpectEqualParameters(const Outcome& outcome) {
  for (size_t rank = 1; rank < outcome.parameters.size(); ++rank) {
    EXPECT_EQ(outcome.parameters[rank], outcome.parameters[0]) << rank;
  }
}

std::vector<proto::ServerReport> Servers(const Outcome& outcome) {
  std::vector<proto::ServerReport> servers;
  for (const proto::ProcessReport& process : outcome.reports) {
    if (process.role() == proto::SERVER) servers.push_back(process.server());
  }
  return servers;
}

double Accuracy(const Outcome& outcome) {
  return outcome.reports[0].worker().evaluations().rbegin()->accuracy();
}

TEST(Consistency, BackupWorkersDropTheStragglersPushes) {
  proto::Job job = JobUnder(proto::Strategy::ps_backup);
  job.set_global_batch(768);
  job.mutable_straggler()->set_rank(2);
  job.mutable_straggler()->set_factor(6);
  const auto outcome = RunJob(job, "backup");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ExpectEqualParameters(*outcome);
  EXPECT_GT(Accuracy(*outcome), 0.5);
  std::vector<int64_t> late(kWorkers);
  for (const proto::ServerReport& server : Servers(*outcome)) {
    ASSERT_EQ(server.late_pushes_size(), kWorkers);
    for (int rank = 0; rank < kWorkers; ++rank) late[rank] += server.late_pushes(rank);
    EXPECT_EQ(server.pushes() % ((kWorkers - 1) * kSteps), 0) << "two of each part and step";
    EXPECT_EQ(server.staleness_max(), 0);
    EXPECT_NEAR(server.scheduled_learning_rate(), 0.05, 1e-12);
  }
  for (int rank = 0; rank < kWorkers; ++rank) {
    const proto::WorkerReport& worker = outcome->reports[rank].worker();
    EXPECT_EQ(worker.late_pushes(), late[rank]) << rank;
    EXPECT_LE(worker.steps().step_size(), kSteps);
  }
  EXPECT_GT(late[2], late[0]);
  EXPECT_LT(outcome->reports[2].worker().steps().step_size(), kSteps / 2) << "it leaves steps out";
}

TEST(Consistency, AsyncCorrectedByDelayLearnsAndSaysItsRates) {
  for (const auto strategy : {proto::Strategy::ps_async_dc, proto::Strategy::ps_async_scaled}) {
    const auto outcome = RunJob(JobUnder(strategy), StrategyName(strategy));
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ExpectEqualParameters(*outcome);
    EXPECT_GT(Accuracy(*outcome), 0.5);
    const bool scaled = strategy == proto::Strategy::ps_async_scaled;
    for (const proto::ServerReport& server : Servers(*outcome)) {
      EXPECT_EQ(server.pushes() % (kWorkers * kSteps), 0);
      EXPECT_NEAR(server.scheduled_learning_rate(), scaled ? 0.05 : 0.05 / kWorkers, 1e-12);
      EXPECT_GT(server.effective_learning_rate(), 0);
      if (scaled && server.staleness_max() > 1) {
        EXPECT_LT(server.effective_learning_rate(), server.scheduled_learning_rate());
      } else {
        EXPECT_DOUBLE_EQ(server.effective_learning_rate(), server.scheduled_learning_rate());
      }
      // What each worker was last given; plain SGD has no state.
      EXPECT_EQ(server.state_bytes(), (scaled ? 0 : kWorkers) * server.parameter_bytes());
    }
  }
}

TEST(Consistency, ElasticAveragingEndsWithTheCentre) {
  proto::Job job = JobUnder(proto::Strategy::ps_elastic);
  const auto outcome = RunJob(job, "elastic");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ExpectEqualParameters(*outcome);
  EXPECT_GT(Accuracy(*outcome), 0.5);
  for (int rank = 0; rank < kWorkers; ++rank) {
    const proto::WorkerReport& worker = outcome->reports[rank].worker();
    EXPECT_EQ(worker.synchronisations(), 6) << "after steps 7, 15, ..., 47";
    EXPECT_EQ(worker.payload_sent_bytes(), 6 * 4 * worker.parameter_count());
  }
  for (const proto::ServerReport& server : Servers(*outcome)) {
    EXPECT_EQ(server.pushes() % (kWorkers * 7), 0) << "and once more at the end";
    EXPECT_EQ(server.state_bytes(), 0);
  }
}

TEST(Consistency, GroupsSynchroniseWithinAndPushThroughTheirFirst) {
  proto::Job job = JobUnder(proto::Strategy::ps_groups);
  job.set_workers(4);
  const auto outcome = RunJob(job, "groups");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ExpectEqualParameters(*outcome);
  EXPECT_GT(Accuracy(*outcome), 0.5);
  int64_t sent = 0, received = 0, servers_received = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const proto::WorkerReport& worker = outcome->reports[rank].worker();
    EXPECT_EQ(worker.synchronisations(), kSteps);
    sent += worker.payload_sent_bytes();
    received += worker.payload_received_bytes();
  }
  for (const proto::ServerReport& server : Servers(*outcome)) {
    EXPECT_EQ(server.pushes() % (2 * kSteps), 0) << "of two groups";
    EXPECT_NEAR(server.effective_learning_rate(), 0.05 / 2, 1e-12);
    servers_received += server.payload_received_bytes();
  }
  const int64_t model_bytes = 4 * outcome->reports[0].worker().parameter_count();
  EXPECT_EQ(servers_received, kSteps * 2 * model_bytes);
  const double each = BytesPerSynchronisation(job, static_cast<double>(model_bytes));
  EXPECT_DOUBLE_EQ(static_cast<double>(sent), kSteps * 4 * each);
  EXPECT_DOUBLE_EQ(static_cast<double>(received), kSteps * 4 * each);
}

TEST(Consistency, ARunThatDivergesIsStoppedAndSaysWhyAndWhatToDo) {
  proto::Job job = JobUnder(proto::Strategy::ps_async);
  job.mutable_ps()->set_push_rate(proto::ParameterServer::full);
  job.mutable_learning_rate()->set_base(1e5);
  const auto outcome = RunJob(job, "diverges");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(std::string(outcome.status().message()),
              AllOf(HasSubstr("diverged in step"), HasSubstr("its loss is"),
                    HasSubstr("the largest staleness that it has seen is"),
                    HasSubstr("fix: a lower --learning_rate.base (it is 100000)")));
  int diverged = 0;
  for (int rank = 0; rank < kWorkers; ++rank) {
    const auto bytes =
        os::ReadFile(absl::StrCat(testing::TempDir(), "/diverges/worker-", rank, ".report"));
    if (!bytes.ok()) continue;  // stopped by the first
    proto::ProcessReport report;
    ASSERT_TRUE(report.ParseFromString(*bytes));
    EXPECT_THAT(report.worker().divergence(), HasSubstr("its loss is"));
    EXPECT_GT(report.worker().steps().step_size(), 0);
    ++diverged;
  }
  EXPECT_GT(diverged, 0);
}

}  // namespace
}  // namespace crossover::tests
