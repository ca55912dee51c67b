#include "bench/comm/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "bench/comm/in_process.h"
#include "core/clock.h"
#include "net/inproc_endpoint.h"

namespace crossover::bench {
namespace {

using allreduce::Kind;

constexpr Kind kOps[] = {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather, Kind::kBroadcast,
                         Kind::kBarrier};

TestPlan SmallPlan(Kind op) {
  TestPlan plan;
  plan.op = op;
  plan.sizes = {0, 12, 4096, 100'000};
  plan.iterations = 1;
  plan.budget_s = 0.001;
  plan.limits = false;
  plan.transport = Transport::kInproc;
  return plan;
}

TEST(Sweep, EveryOperationIsRightInBothPlaces) {
  SystemClock clock;
  for (const Kind op : kOps) {
    SCOPED_TRACE(WordFor(op));
    TestPlan plan = SmallPlan(op);
    if (op == Kind::kBarrier) plan.sizes = {0};
    const auto records = RunInProcess(
        plan, 3, [] { return absl::OkStatus(); }, clock);
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_EQ(records->size(), 2 * plan.sizes.size());
    for (const Record& record : *records) {
      EXPECT_EQ(record.wrong, 0) << record.bytes;
      EXPECT_GT(record.time_us, 0);
      EXPECT_GE(record.time_us_max, record.time_us_min);
      EXPECT_EQ(record.rank_time_us.size(), 3);
      EXPECT_GE(record.slowest_rank, 0);
      EXPECT_LE(record.slowest_rank, 2);
    }
  }
}

// Blocks are whole; sizes that are the same then are measured once.
TEST(Sweep, SizesAreRoundedDownToWholeBlocks) {
  SystemClock clock;
  TestPlan plan = SmallPlan(Kind::kAllGather);
  plan.sizes = {24, 28, 36, 40};
  plan.out_of_place = false;
  const auto records = RunInProcess(
      plan, 3, [] { return absl::OkStatus(); }, clock);
  ASSERT_TRUE(records.ok()) << records.status();
  std::vector<int64_t> bytes;
  for (const Record& record : *records) bytes.push_back(record.bytes);
  EXPECT_THAT(bytes, testing::ElementsAre(24, 36));
}

// Rank 1's result of each checked call has one element spoiled.
TEST(Sweep, ASpoiledElementIsCounted) {
  SystemClock clock;
  TestPlan plan = SmallPlan(Kind::kAllReduce);
  plan.sizes = {4096};
  auto control_endpoints = net::MakeInprocEndpoints(2, clock);
  auto endpoints = net::MakeInprocEndpoints(2, clock);
  std::vector<std::vector<Record>> found(2);
  std::vector<absl::Status> statuses(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Control control(*control_endpoints[rank], 30, clock);
      allreduce::Communicator::Options options;
      options.choose = [](Kind, const allreduce::Place&, int64_t) {
        return allreduce::Algorithm::kRing;
      };
      allreduce::Communicator communicator(*endpoints[rank], options, clock);
      Subject subject;
      subject.run = [&](const auto& request) { return communicator.Run(request); };
      subject.algorithm = [](int64_t) { return "ring"; };
      subject.allocate = Buffer::Private;
      subject.cpu_s = [] { return 0.0; };
      if (rank == 1) {
        subject.spoil = [](std::byte* output, int64_t bytes) { output[bytes / 2] ^= std::byte{1}; };
      }
      statuses[rank] = RunSweep(plan, control, subject,
                                [&](const Record& record) { found[rank].push_back(record); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(statuses[rank].ok()) << statuses[rank];
    ASSERT_EQ(found[rank].size(), 2);
    // Before and after the timing, known to every rank.
    for (const Record& record : found[rank]) EXPECT_EQ(record.wrong, 2);
  }
}

TEST(Sweep, BeingToldToStopEndsTheRanks) {
  SystemClock clock;
  TestPlan plan = SmallPlan(Kind::kAllReduce);
  plan.iterations = 1'000'000;
  int asked = 0;
  const auto records = RunInProcess(
      plan, 2,
      [&] {
        clock.SleepNs(10'000'000);
        return ++asked < 5 ? absl::OkStatus() : absl::CancelledError("told to stop");
      },
      clock);
  EXPECT_TRUE(absl::IsCancelled(records.status())) << records.status();
}

}  // namespace
}  // namespace crossover::bench
