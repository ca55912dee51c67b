#include "bench/ps/push_pull_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/comm/limits.h"
#include "bench/ps/push_pull_targets.h"
#include "bench/shared/verdict.h"

namespace crossover::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kMiB = 1 << 20;

PushPullRecord OurLine(int64_t bytes, int64_t round, double time_us) {
  PushPullRecord record;
  record.network = "1gbit";
  record.placement = "dedicated";
  record.workers = 4;
  record.servers = 4;
  record.bytes = bytes;
  record.buckets = 1;
  record.part_bytes = 65536;
  record.credits = 8;
  record.round = round;
  record.time_us = time_us;
  record.time_us_min = time_us - 1000;
  record.time_us_max = time_us + 1000;
  record.link_GBps = 0.12;
  record.bound_us = static_cast<double>(bytes) / 120;
  record.fairness = 0.999;
  return record;
}

Record RingLine(int64_t bytes, int64_t round, double time_us) {
  Record record;
  record.library = "crossover";
  record.transport = "tcp";
  record.algorithm = "ring";
  record.op = "all_reduce";
  record.network = "1gbit";
  record.ranks = 4;
  record.bytes = bytes;
  record.round = round;
  record.time_us = time_us;
  return record;
}

TEST(PushPullSeries, PairsByRound) {
  const PushPullLines lines = {
      {OurLine(12 * kMiB, 0, 110'000), OurLine(kMiB, 0, 9'000), OurLine(12 * kMiB, 1, 220'000)},
      {RingLine(12 * kMiB, 0, 165'000), RingLine(12 * kMiB, 1, 264'000), RingLine(2 * kMiB, 0, 1)}};
  const std::vector<PushPullSeries> all = SeriesOf(lines);
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].TimeUs(), 165'000);
  EXPECT_EQ(all[0].LeastUs(), 109'000);
  EXPECT_EQ(all[0].MostUs(), 221'000);
  ASSERT_TRUE(all[0].RingOverOurs().has_value());
  EXPECT_DOUBLE_EQ(all[0].RingOverOurs()->median, (1.5 + 1.2) / 2);
  ASSERT_TRUE(all[0].OverBound().has_value());
  EXPECT_NEAR(all[0].OverBound()->lowest, 110'000 / (12 * kMiB / 120.), 1e-9);
  EXPECT_FALSE(all[1].RingOverOurs().has_value());
  EXPECT_THAT(Tables(all), AllOf(HasSubstr("1gbit, 4 workers, 4 dedicated servers"),
                                 HasSubstr("1.35 (1.20 to 1.50)")));
}

TEST(PushPullSeries, WithoutABoundNoneIsShown) {
  PushPullRecord record = OurLine(kMiB, 0, 9'000);
  record.bound_us = 0;
  record.network = "";
  const auto all = SeriesOf(PushPullLines{{record}, {}});
  EXPECT_FALSE(all.front().OverBound().has_value());
  EXPECT_THAT(Tables(all), AllOf(HasSubstr("loopback, 4 workers, 4 servers"),
                                 Not(HasSubstr("Beside our ring"))));
}

TEST(CheckLines, RefusesWhatCannotBe) {
  EXPECT_TRUE(CheckLines({OurLine(16 * kMiB, 0, 150'000)}).ok());
  const absl::Status fast = CheckLines({OurLine(16 * kMiB, 0, 100'000)});
  EXPECT_THAT(std::string(fast.message()),
              HasSubstr("impossible: 1gbit, 4 workers, 4 dedicated servers, 16M took 100.0 ms"));
  // Where the probe was disturbed, what the links are shaped to counts.
  PushPullRecord disturbed = OurLine(16 * kMiB, 0, 150'000);
  disturbed.bound_us *= disturbed.link_GBps / 0.07;
  disturbed.link_GBps = 0.07;
  EXPECT_TRUE(CheckLines({disturbed}).ok());
  // A small one may lie in buffers on the way.
  EXPECT_TRUE(CheckLines({OurLine(kMiB, 0, 1'000)}).ok());
  PushPullRecord wrong = OurLine(kMiB, 0, 9'000);
  wrong.wrong = 3;
  EXPECT_THAT(std::string(CheckLines({wrong}).message()), HasSubstr("3 wrong elements"));
}

TEST(PushPullRecord, IsReadBackAsWritten) {
  PushPullRecord record = OurLine(16 * kMiB, 3, 150'000);
  record.worker_time_us = {1, 2.5};
  const auto read = ReadPushPull(WritePushPull(record));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WritePushPull(*read), WritePushPull(record));
  EXPECT_EQ(read->worker_time_us, record.worker_time_us);
  EXPECT_EQ(read->bytes, record.bytes);
  EXPECT_THAT(std::string(ReadPushPull("{\"op\":7}").status().message()),
              HasSubstr("not a line of ps_test"));
}

TEST(FairnessIndex, IsJains) {
  EXPECT_DOUBLE_EQ(FairnessIndex({2, 2, 2}), 1);
  EXPECT_DOUBLE_EQ(FairnessIndex({1, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(FairnessIndex({1, 3}), 0.8);
  EXPECT_EQ(FairnessIndex({}), 0);
}

std::vector<Verdict> JudgeBy(const std::string& name, const PushPullLines& lines) {
  return TargetsNamed(name, AllPushPullTargets())->front().judge(SeriesOf(lines));
}

std::vector<bool> Reached(const std::vector<Verdict>& verdicts) {
  std::vector<bool> reached;
  for (const Verdict& verdict : verdicts) reached.push_back(verdict.reached);
  return reached;
}

TEST(PushPullTargets, JudgeTheirCells) {
  const double bound_us = 16 * kMiB / 120.;
  PushPullLines lines = {{OurLine(16 * kMiB, 0, 1.04 * bound_us)},
                         {RingLine(16 * kMiB, 0, 1.5 * bound_us)}};
  // The two verdicts of 64 MiB were not measured.
  EXPECT_EQ(Reached(JudgeBy("lab_dedicated", lines)),
            (std::vector<bool>{true, true, false, false}));
  lines.ours.front().time_us = 1.06 * bound_us;
  lines.beside.front().time_us = 1.45 * bound_us;
  EXPECT_EQ(Reached(JudgeBy("lab_dedicated", lines)),
            (std::vector<bool>{false, false, false, false}));
  lines.ours.front().network = "1gbit,0.5ms";
  lines.ours.front().time_us = 1.1 * bound_us + 9'900;
  EXPECT_TRUE(JudgeBy("lab_delay", lines).front().reached);
  lines.ours.front().time_us += 200;
  EXPECT_FALSE(JudgeBy("lab_delay", lines).front().reached);
}

TEST(PushPullTargets, OnLoopbackRatesAndCpuTimeCount) {
  PushPullRecord record = OurLine(64 * kMiB, 0, 64 * kMiB / 600.);  // us at 0.6 GB/s
  record.network = "";
  record.workers = record.servers = 1;
  record.link_GBps = 1.1;
  EXPECT_TRUE(JudgeBy("loopback", {{record}, {}}).front().reached);
  record.link_GBps = 1.3;
  EXPECT_FALSE(JudgeBy("loopback", {{record}, {}}).front().reached);
  record = OurLine(16 * kMiB, 0, 100'000);
  record.network = "";
  record.server_cpu_s_per_GB = 1.4;
  EXPECT_TRUE(JudgeBy("cpu", {{record}, {}}).front().reached);
  record.server_cpu_s_per_GB = 1.6;
  EXPECT_FALSE(JudgeBy("cpu", {{record}, {}}).front().reached);
}

TEST(PushPullTargets, ManyWorkersAreJudgedByTheFew) {
  PushPullRecord few = OurLine(kMiB, 0, 100'000);
  few.network = "200mbit";
  few.workers = 8;
  few.servers = 2;
  few.server_peak_MB = 30;
  PushPullRecord many = few;
  many.workers = 64;
  many.time_us = 880'000;  // of 800'000 at the same rate
  many.server_peak_MB = 90;
  PushPullRecord free = many;
  free.strategy = "ps_async";
  EXPECT_EQ(Reached(JudgeBy("many_workers", {{few, many, free}, {}})),
            (std::vector<bool>{true, true, true, true}));
  many.time_us = 900'000;
  many.fairness = 0.94;  // of workers that wait for each other: says nothing
  many.server_peak_MB = 200;
  EXPECT_EQ(Reached(JudgeBy("many_workers", {{few, many, free}, {}})),
            (std::vector<bool>{false, true, false, true}));
  free.fairness = 0.94;
  free.server_peak_MB = 200;
  EXPECT_EQ(Reached(JudgeBy("many_workers", {{few, many, free}, {}})),
            (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(JudgeBy("many_workers", {{few}, {}}).front().found, "not measured");
}

}  // namespace
}  // namespace crossover::bench
