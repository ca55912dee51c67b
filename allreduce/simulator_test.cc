// Every schedule under random delays. All that is random comes from seeds, counted from
// --gtest_random_seed (1 if unset): a failing one is printed, and
// `bazel test //allreduce:simulator_test --test_arg=--gtest_random_seed=SEED` begins each world
// size with it.
#include "allreduce/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "allreduce/replay.h"
#include "allreduce/schedule_cases.h"
#include "core/combine.h"
#include "core/half.h"

namespace crossover::allreduce {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                               DataType::kFloat64, DataType::kInt32,   DataType::kInt64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax};

uint64_t FirstSeed() { return std::max(1, GTEST_FLAG_GET(random_seed)); }

template <typename T>
void AppendAs(int64_t number, Bytes& bytes) {
  const T value = static_cast<T>(number);
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

void Append(DataType type, int64_t number, Bytes& bytes) {
  switch (type) {
    case DataType::kFloat32:
      return AppendAs<float>(number, bytes);
    case DataType::kFloat16:
      return AppendAs<uint16_t>(FloatToFloat16(static_cast<float>(number)), bytes);
    case DataType::kBfloat16:
      return AppendAs<uint16_t>(FloatToBfloat16(static_cast<float>(number)), bytes);
    case DataType::kFloat64:
      return AppendAs<double>(number, bytes);
    case DataType::kInt32:
      return AppendAs<int32_t>(number, bytes);
    case DataType::kInt64:
      return AppendAs<int64_t>(number, bytes);
  }
}

// Rank r's i-th value, small enough that any sum of them over 64 ranks is exact in any type.
int64_t ValueOf(int rank, int64_t i) { return rank % 3 + i % 3 - 1; }

// Their sum, least and greatest over ranks 0..n-1.
int64_t SumOf(int n, int64_t i) {
  const int64_t sum_of_thirds = n / 3 * 3 + (n % 3 == 2 ? 1 : 0);
  return sum_of_thirds + n * (i % 3 - 1);
}
int64_t LeastOf(int64_t i) { return i % 3 - 1; }
int64_t GreatestOf(int n, int64_t i) { return std::min(n - 1, 2) + i % 3 - 1; }

void AppendResult(DataType type, ReduceOp op, int n, int64_t i, Bytes& bytes) {
  if (op == ReduceOp::kMin) return Append(type, LeastOf(i), bytes);
  if (op == ReduceOp::kMax) return Append(type, GreatestOf(n, i), bytes);
  Append(type, SumOf(n, i), bytes);
  if (op == ReduceOp::kAverage) {
    FinishAverage(type, bytes.data() + bytes.size() - BytesOf(type), 1, n);
  }
}

bool Combines(Kind kind) { return kind == Kind::kAllReduce || kind == Kind::kReduceScatter; }
int BlockOf(const ScheduleCase& c, int64_t i) {
  return static_cast<int>(i / (c.length / c.world_size));
}

// What rank's buffer holds before and after; outside of what the collective promises, 99.
Bytes Before(const ScheduleCase& c, DataType type, int rank) {
  Bytes bytes;
  for (int64_t i = 0; i < c.length; ++i) {
    const bool gives = Combines(c.kind) || (c.kind == Kind::kBroadcast && rank == c.root) ||
                       (c.kind == Kind::kAllGather && BlockOf(c, i) == rank);
    Append(type, gives ? ValueOf(rank, i) : 99, bytes);
  }
  return bytes;
}
Bytes After(const ScheduleCase& c, DataType type, ReduceOp op) {
  Bytes bytes;
  for (int64_t i = 0; i < c.length; ++i) {
    if (Combines(c.kind)) {
      AppendResult(type, op, c.world_size, i, bytes);
    } else {
      Append(type, ValueOf(c.kind == Kind::kBroadcast ? c.root : BlockOf(c, i), i), bytes);
    }
  }
  return bytes;
}

// Where rank's result lies, in bytes.
std::pair<size_t, size_t> PromisedBytes(const ScheduleCase& c, DataType type, int rank) {
  const size_t all = c.length * BytesOf(type);
  if (c.kind != Kind::kReduceScatter) return {0, all};
  return {all / c.world_size * rank, all / c.world_size};
}

SimulationOptions OptionsOf(const ScheduleCase& c, uint64_t seed) {
  const uint64_t mixed = seed * 0x9e3779b97f4a7c15 >> 32;
  return {.type = kTypes[mixed % std::size(kTypes)],
          .op = kOps[mixed / 64 % std::size(kOps)],
          .seed = seed,
          .borrow = SafeToBorrow(c.kind, c.algorithm)};
}

std::string Label(const ScheduleCase& c, const SimulationOptions& options) {
  return absl::StrCat(Describe(c), ", ", NameOf(options.op), " of ", NameOf(options.type),
                      ": seed ", options.seed,
                      "; replay: --test_arg=--gtest_random_seed=", options.seed);
}

// What it means that a rank has ended.
void CheckMoments(const ScheduleCase& c, int rank, const std::vector<Moments>& moments) {
  if (c.kind == Kind::kBroadcast) {
    EXPECT_GE(moments[c.root].ended, moments[rank].last_value)
        << "the root has ended before rank " << rank << " has all values";
  }
  if (c.kind != Kind::kBarrier || c.world_size == 1) return;
  for (const Moments& other : moments) {
    EXPECT_GE(moments[rank].ended, other.began) << "rank " << rank << " has left too early";
  }
}

void CheckClosedForms(const ScheduleCase& c, uint64_t seed) {
  const SimulationOptions options = OptionsOf(c, seed);
  std::vector<Bytes> buffers;
  for (int rank = 0; rank < c.world_size; ++rank) {
    buffers.push_back(Before(c, options.type, rank));
  }
  const auto result = Simulate(SchedulesOf(c), std::move(buffers), options);
  ASSERT_TRUE(result.ok()) << result.status() << "\n" << Label(c, options);
  const Bytes expected = After(c, options.type, options.op);
  for (int rank = 0; rank < c.world_size; ++rank) {
    const auto [begin, size] = PromisedBytes(c, options.type, rank);
    ASSERT_TRUE(size == 0 || std::memcmp(result->buffers[rank].data() + begin,
                                         expected.data() + begin, size) == 0)
        << "rank " << rank << "'s result is wrong\n"
        << Label(c, options);
    CheckMoments(c, rank, result->moments);
    const Traffic traffic = ClosedFormOf(c, rank);
    ASSERT_EQ(result->sent[rank], traffic.sent) << Label(c, options);
    ASSERT_EQ(result->received[rank], traffic.received) << Label(c, options);
    ASSERT_FALSE(testing::Test::HasFailure()) << Label(c, options);
  }
}

// fp32 of many magnitudes, so that another order of a sum gives other bits.
std::vector<Bytes> RandomBuffers(const ScheduleCase& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> buffers(c.world_size);
  for (Bytes& buffer : buffers) {
    for (int64_t i = 0; i < c.length; ++i) {
      const float mantissa = static_cast<float>(static_cast<int64_t>(random() % 2001) - 1000);
      const float value = std::ldexp(mantissa, static_cast<int>(random() % 25));
      const auto* begin = reinterpret_cast<const std::byte*>(&value);
      buffer.insert(buffer.end(), begin, begin + sizeof(value));
    }
  }
  return buffers;
}

void CheckAgainstReplay(const ScheduleCase& c, uint64_t seed) {
  SimulationOptions options = OptionsOf(c, seed);
  options.type = DataType::kFloat32;
  const std::vector<Schedule> schedules = SchedulesOf(c);
  const std::vector<Bytes> buffers = RandomBuffers(c, seed);
  const auto result = Simulate(schedules, buffers, options);
  ASSERT_TRUE(result.ok()) << result.status() << "\n" << Label(c, options);
  ASSERT_TRUE(result->buffers == Replay(schedules, options.type, options.op, buffers))
      << "other bits than the replay's\n"
      << Label(c, options);
}

// A seed decides the case too, so that one number replays a failure. Small worlds run every case
// several times, the largest a part of them.
class SimulatorTest : public testing::TestWithParam<int> {
 protected:
  void ForEachCase(void (*check)(const ScheduleCase&, uint64_t seed)) {
    const std::vector<ScheduleCase> cases = CasesOf(GetParam());
    const uint64_t stride = GetParam() <= 9 ? 1 : GetParam() <= 16 ? 3 : 23;
    const uint64_t end = FirstSeed() + cases.size() * (GetParam() <= 9 ? 2 : 1);
    for (uint64_t seed = FirstSeed(); seed < end; seed += stride) {
      check(cases[seed % cases.size()], seed);
      if (HasFailure()) return;
    }
  }
};

TEST_P(SimulatorTest, ResultsAndTrafficAreTheClosedFormsWhateverTheDelays) {
  ForEachCase(CheckClosedForms);
}

TEST_P(SimulatorTest, BitsAreTheReplaysWhateverTheDelays) { ForEachCase(CheckAgainstReplay); }

INSTANTIATE_TEST_SUITE_P(WorldSizes, SimulatorTest,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 33, 64),
                         testing::PrintToStringParamName());

// What the simulator is there to find.

// How many of 50 seeds end in `code`.
int Failures(const std::vector<Schedule>& schedules, int64_t length, bool borrow,
             absl::StatusCode code) {
  int failures = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const SimulationOptions options{.seed = seed, .borrow = borrow};
    const auto result =
        Simulate(schedules, std::vector<Bytes>(schedules.size(), Bytes(4 * length)), options);
    failures += result.status().code() == code;
  }
  return failures;
}

TEST(SimulatorFindsTest, WhatIsLentAndOverwritten) {
  for (const Algorithm algorithm : {Algorithm::kRecursiveDoubling, Algorithm::kExchange}) {
    const std::vector<Schedule> schedules =
        SchedulesOf({Kind::kAllReduce, algorithm, 4, 0, {}, 31});
    EXPECT_FALSE(SafeToBorrow(Kind::kAllReduce, algorithm));
    EXPECT_GT(Failures(schedules, 31, /*borrow=*/true, absl::StatusCode::kInternal), 25);
    EXPECT_EQ(Failures(schedules, 31, /*borrow=*/false, absl::StatusCode::kInternal), 0);
  }
}

TEST(SimulatorFindsTest, RanksThatWaitForEachOther) {
  const auto schedule_of = [](int peer) {
    Step first;
    first.receives = {{peer, {0, 2}}};
    Step second;
    second.sends = {{peer, {0, 2}}};
    second.ordered = true;
    return Schedule{first, second};
  };
  EXPECT_EQ(
      Failures({schedule_of(1), schedule_of(0)}, 2, false, absl::StatusCode::kDeadlineExceeded),
      50);
}

TEST(SimulatorFindsTest, AMessageThatNobodyWaitsFor) {
  Step send;
  send.sends = {{1, {0, 2}}};
  Step receive;
  receive.receives = {{0, {0, 2}}};
  EXPECT_EQ(Failures({{send, {}}, {{}, receive}}, 2, false, absl::StatusCode::kInternal), 50);
}

TEST(SimulatorRunTest, OneSeedIsOneRun) {
  const std::vector<Schedule> schedules =
      SchedulesOf({Kind::kAllReduce, Algorithm::kRecursiveDoubling, 4, 0, {}, 31});
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const SimulationOptions options{.seed = seed, .borrow = true};
    const std::vector<Bytes> buffers(4, Bytes(124));
    EXPECT_EQ(Simulate(schedules, buffers, options).status(),
              Simulate(schedules, buffers, options).status());
  }
}

}  // namespace
}  // namespace crossover::allreduce
