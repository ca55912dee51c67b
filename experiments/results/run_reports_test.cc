#include "experiments/results/run_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "experiments/report/report_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const proto::Job& job, const std::vector<proto::ProcessReport>& reports) {
  return std::string(AlignReports(job, reports).status().message());
}

TEST(RunReportsTest, AlignsSortsAndMarksTheWarmup) {
  const std::vector<proto::ProcessReport> reports = TwoRanks();
  const auto run = AlignReports(TestJob(proto::Strategy::allreduce_ring, 2), reports);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->workers.size(), 2u);
  EXPECT_EQ(run->workers[0].report, &reports[1]);
  EXPECT_EQ(run->workers[1].report, &reports[0]);
  EXPECT_TRUE(run->warmup_left_out);
  const WorkerTrack& late = run->workers[1];
  EXPECT_EQ(late.measured().size(), 2u);
  EXPECT_EQ(late.measured()[0].step, 1);
  EXPECT_EQ(late.rows[2].interval.start_ns, 200 * kMs);
  EXPECT_EQ(late.rows[2].ops[1].start_ns, 280 * kMs);
  EXPECT_EQ(late.rows[2].exposed_ns(), 15 * kMs);
  EXPECT_EQ(run->training.end_ns, 300 * kMs);
  EXPECT_EQ(FindRow(late, 2), &late.rows[2]);
  EXPECT_EQ(FindRow(late, 3), nullptr);
}

TEST(RunReportsTest, WrongReportsAreRefusedByName) {
  const proto::Job job = TestJob(proto::Strategy::allreduce_ring, 2);
  std::vector<proto::ProcessReport> reports = TwoRanks();
  EXPECT_EQ(ErrorOf(job, {}), "the report of worker 0 is missing: it did not end in order");
  EXPECT_EQ(ErrorOf(job, {reports[1]}),
            "the report of worker 1 is missing: it did not end in order");
  EXPECT_EQ(ErrorOf(job, {reports[0], reports[0]}), "the report of worker 1: it came twice");
  EXPECT_EQ(ErrorOf(job, {reports[0], reports[1], Server(0)}),
            "the report of server 0: the job has 0 of that role");
  reports[0].set_rank(7);
  EXPECT_EQ(ErrorOf(job, reports), "the report of worker 7: the job has 2 of that role");
  reports[0].set_rank(-1);
  EXPECT_EQ(ErrorOf(job, reports), "the report of worker -1: the job has 2 of that role");
  reports[0].clear_role();
  EXPECT_EQ(ErrorOf(job, reports), "a report names no role");
  EXPECT_THAT(ErrorOf(job, {Worker(0, 0, {}), Worker(1, 0, {})}),
              HasSubstr("worker 0: it holds no step"));
}

TEST(RunReportsTest, InconsistentColumnsAreRefused) {
  const proto::Job job = TestJob(proto::Strategy::single, 1);
  const auto error_after = [&](auto change) {
    std::vector<proto::ProcessReport> reports = {Worker(0, 0, {Quick(0), Quick(100)})};
    change(*reports[0].mutable_worker()->mutable_steps(), reports[0]);
    return ErrorOf(job, reports);
  };
  using C = proto::StepColumns;
  using R = proto::ProcessReport;
  EXPECT_EQ(error_after([](C& c, R&) { c.add_loss(1); }),
            "the report of worker 0: column loss has 3 entries, column step 2");
  EXPECT_THAT(error_after([](C& c, R&) { c.set_op_count(0, 5); }),
              HasSubstr("op_count adds up to 7"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_op_count(0, -1); }),
              HasSubstr("a negative op_count"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_step(1, 0); }), HasSubstr("not in order"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_end_ns(1, 0); }),
              HasSubstr("step 1: it ends before it starts"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_compute_ns(0, 101 * kMs); }),
              HasSubstr("step 0: compute_ns is 101000000, the step's length 100000000"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_data_ns(0, -1); }), HasSubstr("data_ns is -1"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_hidden_ns(0, 56 * kMs); }),
              HasSubstr("hidden_ns is larger"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_held_ns(0, -1); }), HasSubstr("held_ns"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_samples(0, -1); }), HasSubstr("samples"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_op_end_ns(0, 0); }),
              HasSubstr("an operation ends before it starts"));
  EXPECT_THAT(error_after([](C& c, R&) { c.set_start_ns(0, INT64_MIN); }),
              HasSubstr("a time is out of range"));
  EXPECT_THAT(error_after([](C&, R& r) { r.set_clock_offset_ns(INT64_MAX); }),
              HasSubstr("a time is out of range"));
  EXPECT_THAT(error_after([](C&, R& r) { r.mutable_worker()->set_train_end_ns(-1); }),
              HasSubstr("the training ends before it starts"));
}

}  // namespace
}  // namespace crossover::experiments
