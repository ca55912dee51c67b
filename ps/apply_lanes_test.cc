#include "ps/apply_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

namespace crossover::ps {
namespace {

using ::testing::ElementsAre;

TEST(ApplyLanes, ALaneRunsItsTasksInOrderAndAloneAndAllBeforeTheEnd) {
  constexpr int kTasks = 2000;
  for (const int threads : {1, 3}) {
    std::vector<std::vector<int>> ran(threads);  // by lane, without a lock
    {
      ApplyLanes lanes(threads);
      ASSERT_EQ(lanes.count(), threads);
      for (int task = 0; task < kTasks; ++task) {
        for (int lane = 0; lane < threads; ++lane) {
          lanes.Post(lane, [&, task, lane] { ran[lane].push_back(task); });
        }
      }
    }
    std::vector<int> expected(kTasks);
    std::iota(expected.begin(), expected.end(), 0);
    for (const auto& tasks : ran) EXPECT_EQ(tasks, expected);
  }
}

TEST(ApplyLanes, WithoutThreadsWhoeverPostsRuns) {
  ApplyLanes lanes(0);
  EXPECT_EQ(lanes.count(), 1);
  std::thread::id ran_on;
  lanes.Post(0, [&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  int after = 0;
  lanes.PostAfterAll([&] { ++after; });
  EXPECT_EQ(after, 1);
}

TEST(ApplyLanes, AfterAllComesOnceAndBehindWhatWasPostedToAnyLane) {
  std::atomic<int> before = 0;
  std::atomic<int> seen = -1;
  std::atomic<int> times = 0;
  {
    ApplyLanes lanes(3);
    for (int task = 0; task < 300; ++task) {
      lanes.Post(task % 3, [&] { ++before; });
    }
    lanes.PostAfterAll([&] {
      seen = before.load();
      ++times;
    });
    for (int lane = 0; lane < 3; ++lane) lanes.Post(lane, [] {});
  }
  EXPECT_EQ(seen, 300);
  EXPECT_EQ(times, 1);
}

TEST(LaneThreads, AreAsWantedOrByTheCores) {
  EXPECT_EQ(LaneThreads(0, 64), 0);
  EXPECT_EQ(LaneThreads(5, 1), 5);
  EXPECT_EQ(LaneThreads(-1, 7), 0);
  EXPECT_EQ(LaneThreads(-1, 8), 2);
}

TEST(AssignToLanes, GivesEachNextEntryToTheLaneThatHasLeast) {
  EXPECT_THAT(AssignToLanes(std::vector<int64_t>{64, 64, 10, 64, 64, 7}, 2),
              ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(AssignToLanes(std::vector<int64_t>{5, 5}, 1), ElementsAre(0, 0));
  EXPECT_TRUE(AssignToLanes({}, 3).empty());
}

}  // namespace
}  // namespace crossover::ps
