// What a worker should send, by what carried its AllReduces.
#include <gtest/gtest.h>

#include <vector>

#include "experiments/report/report_fixture.h"
#include "experiments/results/reduce_run.h"

namespace crossover::experiments {
namespace {

RunResult Reduced(const proto::Job& job, const std::vector<proto::ProcessReport>& reports) {
  const absl::StatusOr<RunResult> result = ReduceRun(job, reports, RunContext());
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : RunResult();
}

TEST(ReduceBytesTest, TheFormulaIsThatOfWhatCarriedEachBucket) {
  std::vector<proto::ProcessReport> reports = TwoRanks();
  for (proto::ProcessReport& report : reports) {
    proto::WorkerReport& worker = *report.mutable_worker();
    worker.add_bucket_bytes(1500);
    worker.add_bucket_bytes(2500);
    proto::AllReduceRange& small = *worker.add_all_reduces();
    small.set_algorithm("exchange");
    small.set_up_to_bytes(1500);
    worker.add_all_reduces()->set_algorithm("recursive_doubling");
  }
  proto::Job job = TestJob(proto::Strategy::allreduce_ring, 2);
  job.mutable_allreduce()->set_algorithm(proto::AllReduce::automatic);
  const RunResult r = Reduced(job, reports);
  EXPECT_DOUBLE_EQ(r.bytes_formula_per_step, 1500 + 2500);
  EXPECT_EQ(r.buckets[0].algorithm, "exchange");
  EXPECT_EQ(r.buckets[1].algorithm, "recursive_doubling");
  // With three ranks they differ: 2 of everything, and (2 + 2)/3.
  job.set_workers(3);
  reports.push_back(reports[1]);
  reports.back().set_rank(2);
  EXPECT_DOUBLE_EQ(Reduced(job, reports).bytes_formula_per_step, 2 * 1500 + 4 / 3. * 2500);
  // Local steps exchange everything at once.
  job.set_strategy(proto::Strategy::local_sgd);
  EXPECT_DOUBLE_EQ(Reduced(job, reports).bytes_formula_per_step, 4 / 3. * 4000);
  EXPECT_EQ(Reduced(job, reports).buckets[0].algorithm, "recursive_doubling");
  // Through memory within hosts: 2 (2-1)/3 of everything goes between the two.
  for (proto::ProcessReport& report : reports) {
    report.mutable_worker()->clear_all_reduces();
    proto::AllReduceRange& range = *report.mutable_worker()->add_all_reduces();
    range.set_algorithm("hierarchical");
    range.set_hosts_sharing_memory(2);
  }
  EXPECT_DOUBLE_EQ(Reduced(job, reports).bytes_formula_per_step, 2 / 3. * 4000);
  for (proto::ProcessReport& report : reports) {
    report.mutable_worker()->clear_all_reduces();
    report.mutable_worker()->add_all_reduces()->set_algorithm("shared_memory");
  }
  EXPECT_DOUBLE_EQ(Reduced(job, reports).bytes_formula_per_step, 0);
}

}  // namespace
}  // namespace crossover::experiments
