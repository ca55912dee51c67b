// Every kind of collective under every algorithm against closed forms, over in-process streams.
#include "allreduce/communicator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "net/inproc_endpoint.h"

namespace crossover::allreduce {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                               DataType::kFloat64, DataType::kInt32,   DataType::kInt64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax};

std::vector<std::tuple<Kind, Algorithm, int>> AllCases() {
  std::vector<std::tuple<Kind, Algorithm, int>> cases;
  for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                          Kind::kBroadcast, Kind::kBarrier}) {
    for (const Algorithm algorithm : AlgorithmsOf(kind)) {
      for (const int world_size : {1, 2, 3, 4, 5, 8}) {
        cases.emplace_back(kind, algorithm, world_size);
      }
    }
  }
  return cases;
}

class CommunicatorTest : public testing::TestWithParam<std::tuple<Kind, Algorithm, int>> {
 protected:
  Kind kind() const { return std::get<0>(GetParam()); }
  Algorithm algorithm() const { return std::get<1>(GetParam()); }
  int world_size() const { return std::get<2>(GetParam()); }

  // What rank `rank` has to hold in the end.
  Bytes Expected(DataType type, ReduceOp op, int rank, int64_t count, int root) const {
    switch (kind()) {
      case Kind::kAllReduce:
        return ReductionOf(type, op, world_size(), count);
      case Kind::kReduceScatter: {
        const Bytes all = ReductionOf(type, op, world_size(), count * world_size());
        const auto begin = all.begin() + rank * count * static_cast<int64_t>(BytesOf(type));
        return Bytes(begin, begin + count * static_cast<int64_t>(BytesOf(type)));
      }
      case Kind::kAllGather: {
        Bytes all;
        for (int from = 0; from < world_size(); ++from) {
          const Bytes part = InputOf(type, from, count);
          all.insert(all.end(), part.begin(), part.end());
        }
        return all;
      }
      case Kind::kBroadcast:
        return InputOf(type, root, count);
      case Kind::kBarrier:
        return {};
    }
    return {};
  }

  int64_t InputCount(int64_t count) const {
    return kind() == Kind::kReduceScatter ? count * world_size() : count;
  }

  // Two hosts, of unlike size where they must be.
  std::vector<int> Hosts() const {
    std::vector<int> hosts;
    for (int rank = 0; rank < world_size(); ++rank)
      hosts.push_back(rank < world_size() / 2 ? 0 : 1);
    return hosts;
  }

  Communicator::Options Options() const {
    Communicator::Options options = TestOptions(algorithm());
    options.host_of = Hosts();
    return options;
  }

  SystemClock clock_;
};

TEST_P(CommunicatorTest, EqualsTheClosedFormForEveryTypeAndOperation) {
  // Every length for one type, one length for every type.
  const bool barrier = kind() == Kind::kBarrier;
  const std::vector<int64_t> every_length =
      barrier ? std::vector<int64_t>{0}
              : std::vector<int64_t>{0, 1, world_size() - 1, world_size() + 1, 5003};
  const std::vector<int64_t> one_length = {barrier ? 0 : 2 * world_size() + 1};
  Endpoints endpoints = net::MakeInprocEndpoints(world_size(), clock_);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    Communicator communicator(endpoint, Options(), clock_);
    const int rank = endpoint.rank();
    int round = 0;
    for (const DataType type : kTypes) {
      for (const ReduceOp op : kOps) {
        const bool first = type == DataType::kFloat32 && op == ReduceOp::kSum;
        for (const int64_t count : first ? every_length : one_length) {
          const Bytes input = InputOf(type, rank, InputCount(count));
          const int root = round++ % world_size();
          const Bytes expected = Expected(type, op, rank, count, root);
          Bytes output(expected.size(), std::byte{0xaa});
          const absl::Status status = communicator.Run({.kind = kind(),
                                                        .type = type,
                                                        .op = op,
                                                        .count = count,
                                                        .input = input.data(),
                                                        .output = output.data(),
                                                        .root = root,
                                                        .name = "values",
                                                        .algorithm = {}});
          if (!status.ok()) return status;
          EXPECT_EQ(output, expected)
              << "rank " << rank << ", " << count << " " << NameOf(type) << ", " << NameOf(op);
          EXPECT_EQ(input, InputOf(type, rank, InputCount(count))) << "the input has changed";
        }
      }
    }
    return absl::OkStatus();
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

TEST_P(CommunicatorTest, InPlaceAndSeveralInFlightAtOnce) {
  if (kind() == Kind::kBarrier) GTEST_SKIP() << "has no values";
  constexpr int kInFlight = 5;
  constexpr int64_t kCount = 20'011;
  Endpoints endpoints = net::MakeInprocEndpoints(world_size(), clock_);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    Communicator communicator(endpoint, Options(), clock_);
    const int rank = endpoint.rank();
    const int64_t block_bytes = kCount * 4;
    std::vector<Bytes> buffers(kInFlight);
    std::vector<int64_t> numbers;
    for (Bytes& buffer : buffers) {
      buffer = InputOf(DataType::kFloat32, rank, InputCount(kCount));
      std::byte* input = buffer.data();
      std::byte* output = buffer.data();
      if (kind() == Kind::kReduceScatter) output += rank * block_bytes;
      if (kind() == Kind::kAllGather) {
        buffer.resize(world_size() * block_bytes);
        if (rank > 0) std::memcpy(buffer.data() + rank * block_bytes, buffer.data(), block_bytes);
        output = buffer.data();
        input = output + rank * block_bytes;
      }
      const absl::StatusOr<int64_t> number = communicator.Start({.kind = kind(),
                                                                 .op = ReduceOp::kSum,
                                                                 .count = kCount,
                                                                 .input = input,
                                                                 .output = output,
                                                                 .name = "values",
                                                                 .algorithm = {}});
      if (!number.ok()) return number.status();
      numbers.push_back(*number);
    }
    for (int i = kInFlight - 1; i >= 0; --i) {
      if (const absl::Status status = communicator.Finish(numbers[i]); !status.ok()) return status;
      const Bytes expected = Expected(DataType::kFloat32, ReduceOp::kSum, rank, kCount, 0);
      const int64_t begin = kind() == Kind::kReduceScatter ? rank * block_bytes : 0;
      EXPECT_EQ(std::memcmp(buffers[i].data() + begin, expected.data(), expected.size()), 0)
          << "rank " << rank << ", buffer " << i;
    }
    return absl::OkStatus();
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(All, CommunicatorTest, testing::ValuesIn(AllCases()),
                         [](const auto& info) {
                           return TestName(std::get<0>(info.param), std::get<1>(info.param)) +
                                  std::to_string(std::get<2>(info.param));
                         });

// More lengths than are kept, each of two types, again and again: a plan that served another call
// would give a wrong sum or an error.
TEST(CommunicatorPlans, CallsThatAreNotAlikeDoNotShareOne) {
  constexpr int kRanks = 3;
  SystemClock clock;
  Endpoints endpoints = net::MakeInprocEndpoints(kRanks, clock);
  std::vector<int64_t> asked(kRanks, 0);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    Communicator::Options options = TestOptions(Algorithm::kRing);
    options.choose = [&](Kind, const Place&, int64_t) {
      ++asked[endpoint.rank()];
      return Algorithm::kRing;
    };
    Communicator communicator(endpoint, options, clock);
    const auto sum = [&](DataType type, int64_t count, std::optional<Algorithm> algorithm) {
      Bytes values = InputOf(type, endpoint.rank(), count);
      const absl::Status status = communicator.Run({.type = type,
                                                    .count = count,
                                                    .input = values.data(),
                                                    .output = values.data(),
                                                    .name = "values",
                                                    .algorithm = algorithm});
      EXPECT_EQ(values, ReductionOf(type, ReduceOp::kSum, kRanks, count)) << count;
      return status;
    };
    for (int round = 0; round < 3; ++round) {
      for (int64_t count = 0; count < 50; ++count) {
        for (const DataType type : {DataType::kFloat32, DataType::kInt64}) {
          if (absl::Status status = sum(type, count, {}); !status.ok()) return status;
        }
        if (absl::Status status = sum(DataType::kInt32, count, Algorithm::kExchange);
            !status.ok()) {
          return status;
        }
      }
    }
    asked[endpoint.rank()] = 0;
    for (int again = 0; again < 10; ++again) {
      if (absl::Status status = sum(DataType::kFloat32, 1000, {}); !status.ok()) return status;
    }
    EXPECT_EQ(asked[endpoint.rank()], 1);
    communicator.SetHosts({0, 0, 1});
    if (absl::Status status = sum(DataType::kFloat32, 1000, {}); !status.ok()) return status;
    EXPECT_EQ(asked[endpoint.rank()], 2) << "other hosts may mean another algorithm";
    return absl::OkStatus();
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

TEST(CommunicatorRequest, WhatCannotBeIsRefusedAndHarmsNothing) {
  SystemClock clock;
  Endpoints endpoints = net::MakeInprocEndpoints(1, clock);
  Communicator communicator(*endpoints[0], TestOptions(Algorithm::kRing), clock);
  float value = 1;
  const Communicator::Request good = {
      .count = 1, .input = &value, .output = &value, .name = "w", .algorithm = {}};
  const auto error_of = [&](auto change) {
    Communicator::Request request = good;
    change(request);
    return std::string(communicator.Run(request).message());
  };
  EXPECT_EQ(error_of([](auto& request) { request.count = -1; }),
            "AllReduce of -1 fp32 \"w\": a count is not negative");
  EXPECT_EQ(error_of([](auto& request) { request.input = nullptr; }),
            "AllReduce of 1 fp32 \"w\": a buffer is missing");
  EXPECT_EQ(error_of([](auto& request) { request.root = 1; }),
            "AllReduce of 1 fp32 \"w\": root 1 is no rank of 1");
  EXPECT_EQ(error_of([](auto& request) { request.algorithm = Algorithm::kChain; }),
            "AllReduce of 1 fp32 \"w\": has no algorithm chain");
  EXPECT_EQ(error_of([](auto& request) { request.count = int64_t{1} << 62; }),
            "AllReduce of 4611686018427387904 fp32 \"w\": more bytes than 63 bits count");
  EXPECT_EQ(error_of([](auto& request) { request.kind = Kind::kBarrier; }),
            "Barrier of 1 fp32 \"w\": has no values");
  EXPECT_TRUE(communicator.Run(good).ok());
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace crossover::allreduce
