#include "allreduce/collective_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "allreduce/test_support.h"
#include "core/clock.h"
#include "net/inproc_endpoint.h"

namespace crossover::allreduce {
namespace {

using testing::HasSubstr;

Communicator::Request SumOf(std::vector<float>& values, absl::string_view name) {
  return {.kind = Kind::kAllReduce,
          .count = static_cast<int64_t>(values.size()),
          .input = values.data(),
          .output = values.data(),
          .name = name,
          .algorithm = {}};
}

TEST(CollectiveThread, SumsEveryBucketInOrderWhateverIsWaitedForFirst) {
  constexpr int kBuckets = 20;  // more than are in flight at once
  constexpr int kWorldSize = 3;
  SystemClock clock;
  Endpoints endpoints = net::MakeInprocEndpoints(kWorldSize, clock);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    Communicator communicator(endpoint, TestOptions(Algorithm::kRing), clock);
    CollectiveThread thread(communicator, {});
    std::vector<std::vector<float>> buckets;
    for (int i = 0; i < kBuckets; ++i) {
      buckets.emplace_back(100 * i, static_cast<float>(endpoint.rank() + i));
    }
    std::atomic<int> done = 0;
    for (int round = 0; round < 3; ++round) {
      std::vector<int64_t> numbers;
      for (std::vector<float>& bucket : buckets) {
        numbers.push_back(thread.Queue(SumOf(bucket, "bucket"), [&] { ++done; }));
      }
      for (int i = kBuckets - 1; i >= 0; --i) {
        if (const absl::Status status = thread.Wait(numbers[i]); !status.ok()) return status;
        EXPECT_TRUE(thread.IsDone(numbers[i]));
        const float expected = static_cast<float>(kWorldSize * i + 3);  // 0 + 1 + 2
        for (const float value : buckets[i]) EXPECT_EQ(value, expected);
        for (float& value : buckets[i]) value = static_cast<float>(endpoint.rank() + i);
      }
    }
    EXPECT_EQ(done, 3 * kBuckets);
    return absl::OkStatus();
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

TEST(CollectiveThread, AFailureEndsWhatIsInFlightAndWhatIsQueuedLater) {
  SystemClock clock;
  Endpoints endpoints = net::MakeInprocEndpoints(2, clock);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    if (endpoint.rank() == 1) return absl::CancelledError("gone");  // closes its endpoint
    Communicator communicator(endpoint, TestOptions(Algorithm::kRing), clock);
    CollectiveThread thread(communicator, {});
    std::vector<std::vector<float>> buckets(10, std::vector<float>(100));
    for (std::vector<float>& bucket : buckets) thread.Queue(SumOf(bucket, "bucket"));
    const absl::Status first = thread.Wait(0);
    EXPECT_FALSE(first.ok());
    EXPECT_EQ(thread.Wait(9), first);
    EXPECT_EQ(thread.Wait(thread.Queue(SumOf(buckets[0], "late"))), first);
    return first;
  });
  EXPECT_THAT(std::string(statuses[0].message()), HasSubstr("rank 1"));
}

TEST(CollectiveThread, FinishesWhatIsQueuedBeforeItEnds) {
  SystemClock clock;
  Endpoints endpoints = net::MakeInprocEndpoints(2, clock);
  RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    Communicator communicator(endpoint, TestOptions(Algorithm::kRing), clock);
    std::vector<std::vector<float>> buckets(10, std::vector<float>(100, 1));
    {
      CollectiveThread thread(communicator, {});
      for (std::vector<float>& bucket : buckets) thread.Queue(SumOf(bucket, "bucket"));
    }
    for (const std::vector<float>& bucket : buckets) EXPECT_EQ(bucket[99], 2);
    return absl::OkStatus();
  });
}

// Done from the start, so nothing ever moves.
TEST(CollectiveThread, OneRankHasItsValuesToo) {
  SystemClock clock;
  Endpoints endpoints = net::MakeInprocEndpoints(1, clock);
  Communicator communicator(*endpoints[0], TestOptions(Algorithm::kRing), clock);
  CollectiveThread thread(communicator, {});
  const std::vector<float> input = {1, 2, 3};
  for (int round = 0; round < 3; ++round) {
    std::vector<float> output(3);
    const int64_t number = thread.Queue({.kind = Kind::kReduceScatter,
                                         .count = 3,
                                         .input = input.data(),
                                         .output = output.data(),
                                         .name = "values",
                                         .algorithm = {}});
    EXPECT_TRUE(thread.Wait(number).ok());
    EXPECT_EQ(output, input);
  }
}

}  // namespace
}  // namespace crossover::allreduce
