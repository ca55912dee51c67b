#include "allreduce/algorithms.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "allreduce/schedule_cases.h"

namespace crossover::allreduce {
namespace {

std::vector<int> WorldSizes() { return {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33, 64}; }

// A value as the set of ranks whose contributions are in it (up to 64), and how often it has been
// completed.
struct Symbol {
  uint64_t ranks = 0;
  int completions = 0;
};
using SymbolicBuffer = std::vector<Symbol>;

uint64_t Bit(int rank) { return uint64_t{1} << rank; }
uint64_t AllOf(int world_size) { return ~uint64_t{0} >> (64 - world_size); }
bool Combines(Kind kind) { return kind == Kind::kAllReduce || kind == Kind::kReduceScatter; }

// What rank's buffer holds at first: its own contribution, or what it gives to others alone.
SymbolicBuffer Before(const ScheduleCase& c, int rank) {
  SymbolicBuffer buffer(c.length);
  for (int64_t i = 0; i < c.length; ++i) {
    const bool gives = Combines(c.kind) ||
                       (c.kind == Kind::kAllGather && i / (c.length / c.world_size) == rank) ||
                       (c.kind == Kind::kBroadcast && rank == c.root);
    if (gives) buffer[i].ranks = Bit(rank);
  }
  return buffer;
}

// The contributions that a value must hold at last; 0 where nothing is promised.
uint64_t Promised(const ScheduleCase& c, int rank, int64_t i) {
  if (c.kind == Kind::kBroadcast) return Bit(c.root);
  if (c.kind == Kind::kAllReduce) return AllOf(c.world_size);
  const int block = static_cast<int>(i / (c.length / c.world_size));
  if (c.kind == Kind::kAllGather) return Bit(block);
  return block == rank ? AllOf(c.world_size) : 0;
}

void Receive(const Step& step, const Segment& segment, const SymbolicBuffer& from,
             SymbolicBuffer& into) {
  for (int64_t i = segment.offset; i < segment.offset + segment.length; ++i) {
    if (step.action == Action::kReplace) {
      into[i] = from[i];
      continue;
    }
    ASSERT_EQ(into[i].ranks & from[i].ranks, 0u) << "a contribution is in a sum twice";
    ASSERT_EQ(into[i].completions + from[i].completions, 0) << "a result is summed again";
    into[i].ranks |= from[i].ranks;
  }
}

void Complete(const Step& step, int world_size, SymbolicBuffer& buffer) {
  std::set<int64_t> done;  // receives in rank order share their segment
  for (const Transfer& receive : step.receives) {
    if (!done.insert(receive.segment.offset).second) continue;
    for (int64_t i = 0; i < receive.segment.length; ++i) {
      Symbol& value = buffer[receive.segment.offset + i];
      ASSERT_EQ(value.ranks, AllOf(world_size)) << "completed before it is whole";
      ++value.completions;
    }
  }
}

// Runs the schedules on sets of contributions in place of numbers, in the worst order that a step
// allows: all sends of a step before all of its receives.
std::vector<SymbolicBuffer> SymbolicReplay(const ScheduleCase& c,
                                           const std::vector<Schedule>& schedules) {
  std::vector<SymbolicBuffer> buffers;
  for (int rank = 0; rank < c.world_size; ++rank) buffers.push_back(Before(c, rank));
  for (size_t k = 0; k < schedules[0].size(); ++k) {
    const std::vector<SymbolicBuffer> before = buffers;
    for (int rank = 0; rank < c.world_size; ++rank) {
      const Step& step = schedules[rank][k];
      for (const auto& [peer, segment] : step.receives) {
        Receive(step, segment, before[peer], buffers[rank]);
      }
      if (step.completes) Complete(step, c.world_size, buffers[rank]);
    }
  }
  return buffers;
}

// The rules of a Step: schedule.h.
void CheckRules(const Step& step, int rank, int world_size, int64_t length) {
  std::set<int> peers;
  const auto check = [&](const Transfer& t) {
    EXPECT_TRUE(peers.insert(t.peer).second) << "a peer twice";
    EXPECT_TRUE(t.peer >= 0 && t.peer < world_size && t.peer != rank);
    EXPECT_TRUE(t.segment.offset >= 0 && t.segment.length >= 0 &&
                t.segment.offset + t.segment.length <= length);
  };
  for (const Transfer& send : step.sends) check(send);
  peers.clear();
  for (const Transfer& receive : step.receives) check(receive);
  for (const Transfer& a : step.receives) {
    for (const Transfer& b : step.receives) {
      if (a.peer == b.peer) continue;
      if (step.action == Action::kReduceRankOrder) {
        EXPECT_EQ(a.segment.offset, b.segment.offset);
        EXPECT_EQ(a.segment.length, b.segment.length);
      } else if (a.segment.length > 0 && b.segment.length > 0) {
        EXPECT_TRUE(a.segment.offset + a.segment.length <= b.segment.offset ||
                    b.segment.offset + b.segment.length <= a.segment.offset);
      }
    }
  }
}

// What one rank sends in a step, the other receives in that step, and the other way round.
void CheckPairs(const std::vector<Schedule>& schedules, size_t k) {
  std::map<std::pair<int, int>, Segment> sent;  // by sender and receiver
  for (size_t rank = 0; rank < schedules.size(); ++rank) {
    for (const auto& [peer, segment] : schedules[rank][k].sends) sent[{rank, peer}] = segment;
  }
  for (size_t rank = 0; rank < schedules.size(); ++rank) {
    for (const auto& [peer, segment] : schedules[rank][k].receives) {
      const auto found = sent.find({peer, rank});
      ASSERT_TRUE(found != sent.end()) << "rank " << rank << " waits for what nobody sends";
      EXPECT_EQ(found->second.offset, segment.offset);
      EXPECT_EQ(found->second.length, segment.length);
      sent.erase(found);
    }
  }
  EXPECT_TRUE(sent.empty()) << "something is sent that nobody receives";
}

class AlgorithmsTest : public testing::TestWithParam<int> {};

TEST_P(AlgorithmsTest, SchedulesKeepTheRules) {
  for (const ScheduleCase& c : CasesOf(GetParam())) {
    SCOPED_TRACE(Describe(c));
    const std::vector<Schedule> schedules = SchedulesOf(c);
    for (int rank = 0; rank < c.world_size; ++rank) {
      ASSERT_EQ(schedules[rank].size(), schedules[0].size());
      for (const Step& step : schedules[rank]) CheckRules(step, rank, c.world_size, c.length);
    }
    for (size_t k = 0; k < schedules[0].size(); ++k) CheckPairs(schedules, k);
    if (HasFailure()) return;
  }
}

TEST_P(AlgorithmsTest, EveryValueEndsWithWhatIsPromisedCompletedOnce) {
  for (const ScheduleCase& c : CasesOf(GetParam())) {
    SCOPED_TRACE(Describe(c));
    const std::vector<SymbolicBuffer> buffers = SymbolicReplay(c, SchedulesOf(c));
    if (HasFailure()) return;
    const int completions = Combines(c.kind) && c.world_size > 1 ? 1 : 0;
    for (int rank = 0; rank < c.world_size; ++rank) {
      for (int64_t i = 0; i < c.length; ++i) {
        const uint64_t promised = Promised(c, rank, i);
        if (promised == 0) continue;
        ASSERT_EQ(buffers[rank][i].ranks, promised) << "rank " << rank << ", value " << i;
        ASSERT_EQ(buffers[rank][i].completions, completions) << "rank " << rank << ", value " << i;
      }
    }
  }
}

TEST_P(AlgorithmsTest, StepsAndValuesAreTheClosedForm) {
  for (const ScheduleCase& c : CasesOf(GetParam())) {
    const std::vector<Schedule> schedules = SchedulesOf(c);
    for (int rank = 0; rank < c.world_size; ++rank) {
      const Traffic counted = CountOf(schedules[rank]);
      const Traffic stated = ClosedFormOf(c, rank);
      ASSERT_EQ(counted.steps, stated.steps) << Describe(c) << ", rank " << rank;
      ASSERT_EQ(counted.sent, stated.sent) << Describe(c) << ", rank " << rank;
      ASSERT_EQ(counted.received, stated.received) << Describe(c) << ", rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WorldSizes, AlgorithmsTest, testing::ValuesIn(WorldSizes()),
                         testing::PrintToStringParamName());

TEST(RingTest, EvenBuffersMoveTheLeastThatAnAllReduceCan) {
  for (int n = 2; n <= 9; ++n) {
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect}) {
      const Traffic traffic = CountOf(
          MakeSchedule(Kind::kAllReduce, algorithm, {.rank = 1, .world_size = n}, int64_t{10} * n));
      EXPECT_EQ(traffic.sent, 2 * (n - 1) * 10);
      EXPECT_EQ(traffic.received, 2 * (n - 1) * 10);
    }
  }
}

TEST(RingTest, StepsOfThreeRanksAreAsDocumented) {
  const Schedule schedule =
      MakeSchedule(Kind::kAllReduce, Algorithm::kRing, {.rank = 1, .world_size = 3}, 9);
  ASSERT_EQ(schedule.size(), 4u);
  for (const Step& step : schedule) {
    EXPECT_EQ(step.sends.at(0).peer, 2);
    EXPECT_EQ(step.receives.at(0).peer, 0);
  }
  EXPECT_EQ(schedule[0].sends[0].segment.offset, 0);     // segment r-1
  EXPECT_EQ(schedule[0].receives[0].segment.offset, 6);  // segment r-2
  EXPECT_FALSE(schedule[0].completes);
  EXPECT_EQ(schedule[1].receives[0].segment.offset, 3);  // its own
  EXPECT_EQ(schedule[1].action, Action::kReduce);
  EXPECT_TRUE(schedule[1].completes);
  EXPECT_EQ(schedule[2].sends[0].segment.offset, 3);
  EXPECT_EQ(schedule[2].action, Action::kReplace);
}

TEST(DirectTest, ContributionsGoToTheOwner) {
  const Schedule schedule =
      MakeSchedule(Kind::kAllReduce, Algorithm::kDirect, {.rank = 1, .world_size = 3}, 9);
  EXPECT_EQ(schedule[0].action, Action::kReduceRankOrder);
  ASSERT_EQ(schedule[0].sends.size(), 2u);
  EXPECT_EQ(schedule[0].sends[0].peer, 0);
  EXPECT_EQ(schedule[0].sends[0].segment.offset, 0);
  EXPECT_EQ(schedule[0].sends[1].peer, 2);
  EXPECT_EQ(schedule[0].sends[1].segment.offset, 6);
  for (const Transfer& receive : schedule[0].receives) EXPECT_EQ(receive.segment.offset, 3);
  EXPECT_EQ(schedule[1].action, Action::kReplace);
}

// Sent from host to host, all ranks of a host together.
int64_t BetweenHosts(const ScheduleCase& c, int host) {
  int64_t values = 0;
  for (int rank = 0; rank < c.world_size; ++rank) {
    if (c.host_of[rank] != host) continue;
    for (const Step& step : MakeSchedule(c.kind, c.algorithm, PlaceOf(c, rank), c.length)) {
      for (const Transfer& send : step.sends) {
        if (c.host_of[send.peer] != host) values += send.segment.length;
      }
    }
  }
  return values;
}

TEST(HierarchicalTest, AHostSendsTheRingOfHostsBytesWhateverItsRanks) {
  const int64_t m = 5040;
  for (const std::vector<int>& host_of : {std::vector{0, 0, 1, 1, 2, 2},
                                          {0, 1, 2, 0, 1, 2},
                                          {0, 0, 0, 1, 2, 2},
                                          {0, 1, 1, 1, 1, 2}}) {
    const ScheduleCase c{Kind::kAllReduce, Algorithm::kHierarchical, 6, 0, host_of, m};
    for (int host = 0; host < 3; ++host) EXPECT_EQ(BetweenHosts(c, host), 4 * m / 3);
  }
}

TEST(BroadcastTest, TheRootHearsLastAndInOrder) {
  for (const Algorithm algorithm : AlgorithmsOf(Kind::kBroadcast)) {
    for (int n = 2; n <= 9; ++n) {
      const Schedule schedule =
          MakeSchedule(Kind::kBroadcast, algorithm, {.rank = 1, .world_size = n, .root = 1}, 10);
      int answers = 0;
      for (const Step& step : schedule) {
        for (const Transfer& receive : step.receives) {
          EXPECT_EQ(receive.segment.length, 0);
          EXPECT_TRUE(step.ordered);
          ++answers;
        }
      }
      EXPECT_GE(answers, 1);
    }
  }
}

// What a rank has heard of, messages being as late as the order of steps allows.
TEST(DisseminationTest, NobodyLeavesBeforeEverybodyHasCome) {
  for (int n = 2; n <= 64; ++n) {
    std::vector<Schedule> schedules =
        SchedulesOf({Kind::kBarrier, Algorithm::kDissemination, n, 0, {}, 0});
    std::vector<uint64_t> heard;
    for (int rank = 0; rank < n; ++rank) heard.push_back(Bit(rank));
    for (size_t k = 0; k < schedules[0].size(); ++k) {
      const std::vector<uint64_t> before = heard;
      for (int rank = 0; rank < n; ++rank) {
        EXPECT_TRUE(schedules[rank][k].ordered);
        for (const Transfer& receive : schedules[rank][k].receives) {
          heard[rank] |= before[receive.peer];
        }
      }
    }
    for (const uint64_t ranks : heard) EXPECT_EQ(ranks, AllOf(n));
  }
}

TEST(NamesTest, AlgorithmsAreFoundByTheirNames) {
  for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                          Kind::kBroadcast, Kind::kBarrier}) {
    for (const Algorithm algorithm : AlgorithmsOf(kind)) {
      EXPECT_EQ(AlgorithmNamed(NameOf(algorithm)), algorithm);
    }
  }
  EXPECT_EQ(AlgorithmNamed("Ring"), std::nullopt);
  EXPECT_EQ(AlgorithmNamed(""), std::nullopt);
  EXPECT_STREQ(NameOf(Kind::kReduceScatter), "ReduceScatter");
}

TEST(AlgorithmsDeathTest, WhatDoesNotExistIsABug) {
  const Place place{.rank = 0, .world_size = 3};
  EXPECT_DEATH(MakeSchedule(Kind::kAllReduce, Algorithm::kChain, place, 9), "exists for this kind");
  EXPECT_DEATH(MakeSchedule(Kind::kAllGather, Algorithm::kRing, place, 10),
               "a block for each rank");
  EXPECT_DEATH(MakeSchedule(Kind::kAllReduce, Algorithm::kRing, {.rank = 3, .world_size = 3}, 9),
               "a rank of the world");
  EXPECT_DEATH(MakeSchedule(Kind::kBroadcast, Algorithm::kTree, {.world_size = 3, .root = -1}, 9),
               "a root of the world");
  EXPECT_DEATH(MakeSchedule(Kind::kAllReduce, Algorithm::kHierarchical,
                            {.world_size = 3, .host_of = {0, 0}}, 9),
               "a host for each rank");
}

}  // namespace
}  // namespace crossover::allreduce
