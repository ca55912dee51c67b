// Outside deterministic mode strategies that compute the same thing agree to
// rounding: ||a - b|| / ||b|| after 50 steps. (Elementwise differences are larger
// and prove nothing.) And what they send is what the formulas say.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/reduce.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

constexpr double kTolerance = 1e-6;

proto::Job JobUnder(proto::Strategy::Name strategy, int workers) {
  proto::Job job = SmallJob(MakeSmallData(1200));
  job.set_strategy(strategy);
  job.set_workers(workers);
  // Else the kernel's count of what TCP carries has nothing of the servers'.
  job.mutable_ps()->set_unix_sockets(false);
  return job;
}

// Runs the job: its parameters end where those of `expected` did.
void ExpectAgreement(const proto::Job& job, const std::string& name, const Outcome& expected) {
  const absl::StatusOr<Outcome> outcome = RunJob(job, name);
  ASSERT_TRUE(outcome.ok()) << name << ": " << outcome.status();
  const std::vector<float>& parameters = outcome->parameters.front();
  ASSERT_EQ(parameters.size(), expected.parameters.front().size()) << name;
  EXPECT_LE(RelativeDifference(parameters, expected.parameters.front()), kTolerance) << name;
}

TEST(Equivalence, SynchronousStrategiesAgreeWithTheSingleProcess) {
  for (const int workers : {1, 2, 3, 4}) {
    const auto single =
        RunJob(JobUnder(proto::Strategy::single, workers), absl::StrCat("single-", workers));
    ASSERT_TRUE(single.ok()) << single.status();
    for (const proto::Strategy::Name strategy :
         {proto::Strategy::ps_sync, proto::Strategy::allreduce_ring}) {
      const std::string name = absl::StrCat(proto::Strategy::Name_Name(strategy), "-", workers);
      ExpectAgreement(JobUnder(strategy, workers), name, *single);
    }
  }
}

// Through the servers in two phases, here after all buckets. The first steps' gradients have norms
// of 1 and more.
TEST(Equivalence, SynchronousStrategiesClipAlike) {
  proto::Job job = JobUnder(proto::Strategy::single, 3);
  // With seed 1 a unit is at its kink in one step: the order of sums decides, and the results are
  // 1e-8 or 4e-6 apart.
  job.set_seed(2);
  const auto unclipped = RunJob(job, "unclipped-single");
  ASSERT_TRUE(unclipped.ok()) << unclipped.status();
  job.mutable_optimizer()->set_clip_norm(0.25);
  const auto single = RunJob(job, "clipped-single");
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_GT(RelativeDifference(single->parameters.front(), unclipped->parameters.front()), 1e-3);
  for (const proto::Strategy::Name strategy :
       {proto::Strategy::ps_sync, proto::Strategy::allreduce_ring}) {
    job.set_strategy(strategy);
    ExpectAgreement(job, absl::StrCat("clipped-", proto::Strategy::Name_Name(strategy)), *single);
  }
}

TEST(Equivalence, LocalSgdWithOneStepIsAllReduce) {
  const auto ring = RunJob(JobUnder(proto::Strategy::allreduce_ring, 3), "ring");
  ASSERT_TRUE(ring.ok()) << ring.status();
  proto::Job local = JobUnder(proto::Strategy::local_sgd, 3);
  local.mutable_local_sgd()->set_local_steps(1);
  ExpectAgreement(local, "local-ring", *ring);
  local.mutable_local_sgd()->set_through(proto::LocalSgd::servers);
  ExpectAgreement(local, "local-servers", *ring);
}

TEST(Equivalence, LocalSgdIsTheSameThroughTheRingAndThroughServers) {
  proto::Job local = JobUnder(proto::Strategy::local_sgd, 3);
  local.mutable_optimizer()->set_name(proto::OptimizerKind::nesterov);
  local.mutable_local_sgd()->set_local_steps(7);
  local.mutable_local_sgd()->set_first_phase_steps(5);
  local.mutable_local_sgd()->set_outer_learning_rate(0.7);
  local.mutable_local_sgd()->set_outer_momentum(0.9);
  const auto ring = RunJob(local, "outer-ring");
  ASSERT_TRUE(ring.ok()) << ring.status();
  local.mutable_local_sgd()->set_through(proto::LocalSgd::servers);
  ExpectAgreement(local, "outer-servers", *ring);
}

TEST(Equivalence, AccumulationGivesTheLargeBatch) {
  proto::Job job = JobUnder(proto::Strategy::allreduce_ring, 2);
  const auto whole = RunJob(job, "whole");
  ASSERT_TRUE(whole.ok()) << whole.status();
  job.set_accumulation(3);
  ExpectAgreement(job, "accumulated", *whole);
}

TEST(Equivalence, AgreesOverTheUnevenEndsOfEpochs) {
  proto::Job job = JobUnder(proto::Strategy::single, 3);
  job.mutable_data()->set_path(MakeSmallData(1003));  // not divisible by ranks or batches
  const auto single = RunJob(job, "uneven-single");
  ASSERT_TRUE(single.ok()) << single.status();
  job.set_strategy(proto::Strategy::ps_sync);
  ExpectAgreement(job, "uneven-ps", *single);
  EXPECT_GT(single->reports.front().worker().evaluations_size(), 1) << "an epoch ended on the way";
}

// Per worker and synchronised step of M bytes: ring 2 (N-1)/N M, servers M, each way.
TEST(Ledger, EqualsTheFormulas) {
  const int workers = 4;
  for (const proto::Strategy::Name strategy :
       {proto::Strategy::ps_sync, proto::Strategy::ps_async, proto::Strategy::ps_ssp,
        proto::Strategy::allreduce_ring}) {
    const std::string name = absl::StrCat("ledger-", proto::Strategy::Name_Name(strategy));
    const auto outcome = RunJob(JobUnder(strategy, workers), name);
    ASSERT_TRUE(outcome.ok()) << name << ": " << outcome.status();
    int64_t sent = 0;
    int64_t received = 0;
    double model_bytes = 0;
    for (int rank = 0; rank < workers; ++rank) {
      const proto::WorkerReport& report = outcome->reports[rank].worker();
      sent += report.payload_sent_bytes();
      received += report.payload_received_bytes();
      model_bytes = 4.0 * static_cast<double>(report.parameter_count());
      EXPECT_EQ(report.synchronisations(), 50);
      // The kernel counts our headers too, and little else.
      EXPECT_GE(report.wire_sent_bytes(), report.payload_sent_bytes()) << name;
      EXPECT_LT(static_cast<double>(report.wire_sent_bytes()),
                1.05 * static_cast<double>(report.payload_sent_bytes()))
          << name;
    }
    const double per_step = strategy == proto::Strategy::allreduce_ring
                                ? 2.0 * (workers - 1) * model_bytes  // N x 2 (N-1)/N M
                                : workers * model_bytes;
    EXPECT_EQ(sent, std::llround(50 * per_step)) << name;
    EXPECT_EQ(received, std::llround(50 * per_step)) << name;
    if (strategy == proto::Strategy::allreduce_ring) continue;
    int64_t servers_received = 0;
    for (size_t i = workers; i < outcome->reports.size(); ++i) {
      servers_received += outcome->reports[i].server().payload_received_bytes();
    }
    EXPECT_EQ(servers_received, sent) << name;
  }
}

// H = 8 averages after steps 0, 8, ... 48; the last averaging, in Finish, is apart.
TEST(Ledger, LocalSgdSendsEveryHSteps) {
  for (const auto through : {proto::LocalSgd::allreduce, proto::LocalSgd::servers}) {
    proto::Job job = JobUnder(proto::Strategy::local_sgd, 4);
    job.mutable_local_sgd()->set_through(through);
    const std::string name = absl::StrCat("ledger-", proto::LocalSgd::Through_Name(through));
    const auto outcome = RunJob(job, name);
    ASSERT_TRUE(outcome.ok()) << name << ": " << outcome.status();
    int64_t sent = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const proto::WorkerReport& report = outcome->reports[rank].worker();
      EXPECT_EQ(report.synchronisations(), 7) << name;
      EXPECT_GE(report.wire_sent_bytes(), report.payload_sent_bytes()) << name;
      sent += report.payload_sent_bytes();
    }
    const int64_t model_bytes = 4 * outcome->reports[0].worker().parameter_count();
    EXPECT_EQ(sent, 7 * (through == proto::LocalSgd::allreduce ? 2 * 3 : 4) * model_bytes) << name;
  }
}

TEST(Spans, CoverTheStep) {
  for (const proto::Strategy::Name strategy :
       {proto::Strategy::single, proto::Strategy::ps_sync, proto::Strategy::allreduce_ring,
        proto::Strategy::local_sgd, proto::Strategy::ps_async, proto::Strategy::ps_ssp}) {
    const std::string name = absl::StrCat("spans-", proto::Strategy::Name_Name(strategy));
    proto::Job job = JobUnder(strategy, 2);
    job.set_global_batch(512);
    const auto outcome = RunJob(job, name);
    ASSERT_TRUE(outcome.ok()) << name << ": " << outcome.status();
    int64_t covered = 0;
    int64_t whole = 0;
    for (const proto::ProcessReport& process : outcome->reports) {
      const proto::StepColumns& steps = process.worker().steps();
      for (int i = 5; i < steps.step_size(); ++i) {
        covered += steps.covered_ns(i);
        whole += steps.end_ns(i) - steps.start_ns(i);
      }
    }
    const double coverage = static_cast<double>(covered) / static_cast<double>(whole);
    EXPECT_GE(coverage, 0.99) << name;
    EXPECT_LE(coverage, 1.0) << name;
  }
}

TEST(BoundedStaleness, HoldsTheFastAndNeverPassesTheBound) {
  proto::Job job = JobUnder(proto::Strategy::ps_ssp, 3);
  job.mutable_ps()->set_staleness_bound(2);
  job.mutable_straggler()->set_rank(1);
  job.mutable_straggler()->set_factor(3);
  job.set_global_batch(768);
  const auto outcome = RunJob(job, "ssp");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  int64_t held = 0;
  for (size_t i = 3; i < outcome->reports.size(); ++i) {
    const proto::ServerReport& server = outcome->reports[i].server();
    EXPECT_LE(server.lead_steps_max(), 2);
    EXPECT_GT(server.lead_steps_max(), 0);
    for (const int64_t replies : server.held_replies()) held += replies;
    ASSERT_EQ(server.held_replies_size(), 3);
    EXPECT_EQ(server.held_replies(1), 0) << "the slow worker is nobody's leader";
  }
  EXPECT_GT(held, 0);
  // The same from the workers' own clocks, which are one on this host: nobody began
  // step t before everybody had ended step t - 1 - bound.
  for (int fast = 0; fast < 3; ++fast) {
    const proto::StepColumns& mine = outcome->reports[fast].worker().steps();
    for (int slow = 0; slow < 3; ++slow) {
      const proto::StepColumns& other = outcome->reports[slow].worker().steps();
      for (int step = 3; step < mine.step_size(); ++step) {
        EXPECT_GE(mine.start_ns(step), other.start_ns(step - 3))
            << "worker " << fast << " in step " << step << " against worker " << slow;
      }
    }
  }
}

}  // namespace
}  // namespace crossover::tests
