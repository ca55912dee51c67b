#include "allreduce/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace crossover::allreduce {
namespace {

using MakeSchedule = Schedule (*)(int rank, int world_size, int64_t length);

std::vector<int64_t> Lengths(int64_t world_size) {
  return {0, 1, world_size - 1, world_size, world_size + 1, 1000};
}

int64_t Sum(const std::vector<Transfer>& transfers) {
  int64_t values = 0;
  for (const Transfer& transfer : transfers) values += transfer.segment.length;
  return values;
}

struct Traffic {
  int64_t sent = 0;
  int64_t received = 0;
};
Traffic Count(const Schedule& schedule) {
  Traffic traffic;
  for (const Step& step : schedule) {
    traffic.sent += Sum(step.sends);
    traffic.received += Sum(step.receives);
  }
  return traffic;
}

// How often each rank's contribution is in a value.
using Contributions = std::vector<int>;
using SymbolicBuffer = std::vector<Contributions>;

// Runs the schedules on contributions in place of numbers. Every receive must have
// its send; the order of a step's transfers must not matter.
std::vector<SymbolicBuffer> SymbolicReplay(const std::vector<Schedule>& schedules, int64_t length) {
  const int world_size = static_cast<int>(schedules.size());
  std::vector<SymbolicBuffer> buffers(world_size);
  for (int rank = 0; rank < world_size; ++rank) {
    Contributions own(world_size);
    own[rank] = 1;
    buffers[rank].assign(length, own);
  }
  for (size_t step = 0; step < schedules[0].size(); ++step) {
    const std::vector<SymbolicBuffer> before = buffers;
    std::map<std::pair<int, int>, Segment> sent;
    for (int rank = 0; rank < world_size; ++rank) {
      for (const Transfer& t : schedules[rank][step].sends) {
        EXPECT_TRUE(sent.emplace(std::pair(rank, t.peer), t.segment).second)
            << "two sends to one peer";
      }
    }
    for (int rank = 0; rank < world_size; ++rank) {
      for (const Transfer& t : schedules[rank][step].receives) {
        const auto found = sent.find({t.peer, rank});
        if (found == sent.end()) {
          ADD_FAILURE() << "rank " << rank << " waits for what " << t.peer << " never sends";
          continue;
        }
        EXPECT_EQ(found->second.offset, t.segment.offset);
        EXPECT_EQ(found->second.length, t.segment.length);
        sent.erase(found);
        for (int64_t i = t.segment.offset; i < t.segment.offset + t.segment.length; ++i) {
          Contributions& ours = buffers[rank][i];
          if (schedules[rank][step].action == Action::kReplace) {
            ours = before[t.peer][i];
          } else {
            for (int r = 0; r < world_size; ++r) ours[r] += before[t.peer][i][r];
          }
        }
      }
    }
    EXPECT_TRUE(sent.empty()) << "something is sent that nobody receives";
  }
  return buffers;
}

TEST(CutEvenlyTest, CoversTheLengthWithPiecesThatDifferByAtMostOne) {
  for (int pieces = 1; pieces <= 9; ++pieces) {
    for (const int64_t length : Lengths(pieces)) {
      const std::vector<Segment> segments = CutEvenly(length, pieces);
      ASSERT_EQ(segments.size(), static_cast<size_t>(pieces));
      int64_t end = 0;
      for (const Segment& segment : segments) {
        EXPECT_EQ(segment.offset, end);
        EXPECT_GE(segment.length, length / pieces);
        EXPECT_LE(segment.length, (length + pieces - 1) / pieces);
        end += segment.length;
      }
      EXPECT_EQ(end, length);
    }
  }
}

TEST(CutEvenlyTest, LongerPiecesComeFirst) {
  const std::vector<Segment> segments = CutEvenly(8, 3);
  EXPECT_EQ(segments[0].length, 3);
  EXPECT_EQ(segments[1].length, 3);
  EXPECT_EQ(segments[2].length, 2);
}

class BothSchedulesTest : public testing::TestWithParam<MakeSchedule> {};

TEST_P(BothSchedulesTest, EveryRankEndsWithEveryContributionOnce) {
  for (int world_size = 1; world_size <= 9; ++world_size) {
    for (const int64_t length : Lengths(world_size)) {
      std::vector<Schedule> schedules;
      for (int rank = 0; rank < world_size; ++rank) {
        schedules.push_back(GetParam()(rank, world_size, length));
        ASSERT_EQ(schedules[rank].size(), schedules[0].size());
      }
      const std::vector<SymbolicBuffer> buffers = SymbolicReplay(schedules, length);
      const Contributions once(world_size, 1);
      for (const SymbolicBuffer& buffer : buffers) {
        for (const Contributions& value : buffer) {
          ASSERT_EQ(value, once) << "world size " << world_size << ", length " << length;
        }
      }
    }
  }
}

TEST_P(BothSchedulesTest, AllRanksTogetherMoveTwiceTheBufferForEachOtherRank) {
  for (int world_size = 1; world_size <= 9; ++world_size) {
    for (const int64_t length : Lengths(world_size)) {
      Traffic total;
      for (int rank = 0; rank < world_size; ++rank) {
        const Traffic traffic = Count(GetParam()(rank, world_size, length));
        total.sent += traffic.sent;
        total.received += traffic.received;
        // Each rank's share is the same but for what does not divide.
        EXPECT_LE(std::abs(traffic.sent * world_size - 2 * (world_size - 1) * length),
                  2 * world_size * world_size);
        if (length % world_size == 0) {
          EXPECT_EQ(traffic.sent, 2 * (world_size - 1) * length / world_size);
          EXPECT_EQ(traffic.received, 2 * (world_size - 1) * length / world_size);
        }
      }
      EXPECT_EQ(total.sent, 2 * (world_size - 1) * length);
      EXPECT_EQ(total.received, total.sent);
    }
  }
}

TEST_P(BothSchedulesTest, SendsAndReceivesOfAStepAreDisjointOrOnlyRead) {
  for (int world_size = 2; world_size <= 6; ++world_size) {
    const int64_t length = 10 * world_size + 1;
    for (int rank = 0; rank < world_size; ++rank) {
      for (const Step& step : GetParam()(rank, world_size, length)) {
        std::set<int64_t> sent;
        for (const Transfer& t : step.sends) sent.insert(t.segment.offset);
        for (const Transfer& t : step.receives) EXPECT_FALSE(sent.contains(t.segment.offset));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, BothSchedulesTest,
                         testing::Values(&RingSchedule, &DirectSchedule),
                         [](const auto& info) { return info.index == 0 ? "Ring" : "Direct"; });

TEST(RingScheduleTest, StepsAndBytesAreTheClosedForm) {
  for (int world_size = 1; world_size <= 9; ++world_size) {
    for (const int64_t length : Lengths(world_size)) {
      const std::vector<Segment> segments = CutEvenly(length, world_size);
      for (int rank = 0; rank < world_size; ++rank) {
        const Schedule schedule = RingSchedule(rank, world_size, length);
        EXPECT_EQ(schedule.size(), 2u * (world_size - 1));
        if (world_size == 1) continue;
        const auto segment = [&](int i) { return segments[(i + world_size) % world_size].length; };
        const Traffic traffic = Count(schedule);
        EXPECT_EQ(traffic.sent, 2 * length - segment(rank + 1) - segment(rank + 2));
        EXPECT_EQ(traffic.received, 2 * length - segment(rank) - segment(rank + 1));
      }
    }
  }
}

TEST(RingScheduleTest, SpeaksOnlyWithItsNeighbours) {
  for (const Step& step : RingSchedule(0, 5, 100)) {
    ASSERT_EQ(step.sends.size(), 1u);
    ASSERT_EQ(step.receives.size(), 1u);
    EXPECT_EQ(step.sends[0].peer, 1);
    EXPECT_EQ(step.receives[0].peer, 4);
  }
}

TEST(RingScheduleTest, FirstStepOfThreeRanksIsAsDocumented) {
  const Schedule schedule = RingSchedule(1, 3, 9);
  EXPECT_EQ(schedule[0].sends[0].segment.offset, 3);     // segment r
  EXPECT_EQ(schedule[0].receives[0].segment.offset, 0);  // segment r-1
  EXPECT_EQ(schedule[0].action, Action::kAddReceived);
  EXPECT_EQ(schedule[2].sends[0].segment.offset, 6);  // segment r+1, the one it owns
  EXPECT_EQ(schedule[2].receives[0].segment.offset, 3);
  EXPECT_EQ(schedule[2].action, Action::kReplace);
}

TEST(DirectScheduleTest, StepsAndBytesAreTheClosedForm) {
  EXPECT_TRUE(DirectSchedule(0, 1, 1000).empty());
  for (int world_size = 2; world_size <= 9; ++world_size) {
    for (const int64_t length : Lengths(world_size)) {
      const std::vector<Segment> segments = CutEvenly(length, world_size);
      for (int rank = 0; rank < world_size; ++rank) {
        const Schedule schedule = DirectSchedule(rank, world_size, length);
        EXPECT_EQ(schedule.size(), 2u);
        const int64_t own = segments[rank].length;
        const Traffic traffic = Count(schedule);
        EXPECT_EQ(traffic.sent, length - own + (world_size - 1) * own);
        EXPECT_EQ(traffic.received, traffic.sent);
      }
    }
  }
}

TEST(DirectScheduleTest, ContributionsGoToTheOwner) {
  const Schedule schedule = DirectSchedule(1, 3, 9);
  EXPECT_EQ(schedule[0].action, Action::kKeepForOwner);
  ASSERT_EQ(schedule[0].sends.size(), 2u);
  EXPECT_EQ(schedule[0].sends[0].peer, 0);
  EXPECT_EQ(schedule[0].sends[0].segment.offset, 0);
  EXPECT_EQ(schedule[0].sends[1].peer, 2);
  EXPECT_EQ(schedule[0].sends[1].segment.offset, 6);
  for (const Transfer& receive : schedule[0].receives) EXPECT_EQ(receive.segment.offset, 3);
  EXPECT_EQ(schedule[1].action, Action::kReplace);
}

TEST(ScheduleDeathTest, AForeignRankIsABug) {
  EXPECT_DEATH(RingSchedule(3, 3, 10), "a rank of the world");
  EXPECT_DEATH(DirectSchedule(-1, 3, 10), "a rank of the world");
}

}  // namespace
}  // namespace crossover::allreduce
