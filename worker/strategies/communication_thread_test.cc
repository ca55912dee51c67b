#include "worker/strategies/communication_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace crossover::worker {
namespace {

TEST(CommunicationThread, RunsTasksInOrder) {
  CommunicationThread thread(100);
  std::vector<int> order;
  int64_t last = -1;
  for (int i = 0; i < 100; ++i) {
    last = thread.Queue([&order, i] {
      order.push_back(i);
      return absl::OkStatus();
    });
  }
  ASSERT_TRUE(thread.Wait(last).ok());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(CommunicationThread, WaitsForTheNamedTaskOnly) {
  CommunicationThread thread(2);
  std::atomic<bool> let_second_go = false;
  const int64_t first = thread.Queue([] { return absl::OkStatus(); });
  const int64_t second = thread.Queue([&] {
    let_second_go.wait(false);
    return absl::OkStatus();
  });
  EXPECT_TRUE(thread.Wait(first).ok());
  EXPECT_TRUE(thread.IsDone(first));
  EXPECT_FALSE(thread.IsDone(second));
  let_second_go = true;
  let_second_go.notify_all();
  EXPECT_TRUE(thread.Wait(second).ok());
}

TEST(CommunicationThread, DropsTasksAfterAFailureAndKeepsItsStatus) {
  CommunicationThread thread(3);
  bool ran = false;
  thread.Queue([] { return absl::UnavailableError("rank 2 closed the connection"); });
  const int64_t dropped = thread.Queue([&] {
    ran = true;
    return absl::OkStatus();
  });
  EXPECT_EQ(thread.Wait(dropped).message(), "rank 2 closed the connection");
  EXPECT_FALSE(ran);
}

TEST(CommunicationThread, FinishesQueuedTasksBeforeItEnds) {
  int ran = 0;
  {
    CommunicationThread thread(10);
    for (int i = 0; i < 10; ++i) {
      thread.Queue([&] {
        ++ran;
        return absl::OkStatus();
      });
    }
  }
  EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace crossover::worker
