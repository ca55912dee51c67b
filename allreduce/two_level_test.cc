// AllReduce in two levels over several layouts of hosts: against closed forms, and bit for bit
// against hierarchical without shared memory.
#include "allreduce/two_level.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/communicator.h"
#include "allreduce/host_sharing.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "core/data_type.h"
#include "core/status.h"
#include "net/endpoint.h"
#include "net/inproc_endpoint.h"
#include "net/tcp_test_support.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                               DataType::kFloat64, DataType::kInt32,   DataType::kInt64};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax};
// With slots of 4 KiB: nothing, single values, small ones, some blocks.
const std::vector<int64_t> kEveryLength = {0, 1, 2, 5, 30, 300, 5003};
const std::vector<int64_t> kSomeLengths = {13, 500, 2501};

struct Layout {
  const char* name;
  std::vector<int> host_of;
  int ranks() const { return static_cast<int>(host_of.size()); }
};

class TwoLevelTest : public testing::TestWithParam<Layout> {
 protected:
  int ranks() const { return GetParam().ranks(); }
  absl::StatusOr<std::unique_ptr<SharingRank>> Open(net::Endpoint& endpoint) const {
    return SharingRank::Open(endpoint, {.host_of = GetParam().host_of}, clock_);
  }
  bool HasMates(int rank) const {
    const std::vector<int>& hosts = GetParam().host_of;
    return std::count(hosts.begin(), hosts.end(), hosts[rank]) > 1;
  }
  void ExpectAllWell(const std::vector<absl::Status>& statuses) const {
    for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  }
  SystemClock clock_;
};

// One AllReduce, in place or not, from private buffers or shared ones, against the closed form.
absl::Status CheckOne(SharingRank& rank, DataType type, ReduceOp op, int64_t count, bool in_place,
                      bool shared) {
  const Bytes input = InputOf(type, rank.rank(), count);
  const auto size = static_cast<int64_t>(input.size());
  Bytes own(2 * size + 1);
  std::byte* room = own.data();
  if (shared) {
    ASSIGN_OR_RETURN(room, rank.registry().Allocate("values", 2 * size + 1));
  }
  if (size > 0) std::memcpy(room, input.data(), input.size());
  std::byte* const output = in_place ? room : room + size;
  const absl::Status status = rank.communicator().Run({.kind = Kind::kAllReduce,
                                                       .type = type,
                                                       .op = op,
                                                       .count = count,
                                                       .input = room,
                                                       .output = output,
                                                       .name = "values",
                                                       .algorithm = {}});
  if (status.ok()) {
    EXPECT_EQ(Bytes(output, output + size),
              ReductionOf(type, op, rank.communicator().world_size(), count))
        << "rank " << rank.rank() << ": " << NameOf(op) << " of " << count << " " << NameOf(type)
        << (in_place ? ", in place" : "") << (shared ? ", shared" : "");
    EXPECT_TRUE(in_place || Bytes(room, room + size) == input) << "the input has changed";
  }
  if (shared) rank.registry().Free(room);
  return status;
}

TEST_P(TwoLevelTest, EqualsTheClosedForm) {
  Endpoints endpoints = net::MakeInprocEndpoints(ranks(), clock_);
  ExpectAllWell(RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    ASSIGN_OR_RETURN(const auto rank, Open(endpoint));
    // Every length and way for one type, some for every type.
    int round = 0;
    for (const DataType type : kTypes) {
      for (const ReduceOp op : kOps) {
        const bool first = type == DataType::kFloat32 && op == ReduceOp::kSum;
        for (const int64_t count : first ? kEveryLength : kSomeLengths) {
          for (int k = 0; k < (first ? 4 : 1); ++k) {
            const int way = round++ % 4;
            RETURN_IF_ERROR(CheckOne(*rank, type, op, count, way % 2 == 0, way / 2 == 0));
          }
        }
      }
    }
    EXPECT_EQ(rank->sharing().extent, HostSharing::Extent::kWithinHosts);
    EXPECT_EQ(rank->sharing().group != nullptr, HasMates(rank->rank()));
    if (rank->sharing().group != nullptr) {
      EXPECT_GT(rank->sharing().group->path_counts().small, 20);
      EXPECT_GT(rank->sharing().group->path_counts().fused, 20);
      EXPECT_GT(rank->sharing().group->path_counts().staged, 20);
    }
    return absl::OkStatus();
  }));
}

// fp32 values of many magnitudes and bf16 show every other order and every other rounding.
TEST_P(TwoLevelTest, HasTheBitsOfHierarchicalOnEveryRank) {
  constexpr int64_t kCount = 7001;
  const Buffers inputs = RandomBuffers(ranks(), kCount, 7);
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
    const int64_t count = kCount * 4 / static_cast<int64_t>(BytesOf(type));
    std::vector<Buffers> results;
    for (const bool shares : {false, true}) {
      Buffers& values = results.emplace_back(inputs);
      Endpoints endpoints = net::MakeInprocEndpoints(
          ranks(), clock_, {.queue_bytes = 5000, .short_moves_seed = 3, .borrow = false});
      ExpectAllWell(RunRanks(endpoints, [&](net::Endpoint& endpoint) {
        ASSIGN_OR_RETURN(const auto rank, Open(endpoint));
        Communicator::Options options = TestOptions(Algorithm::kHierarchical);
        options.host_of = GetParam().host_of;
        Communicator without(endpoint, options, clock_);
        Communicator& communicator = shares ? rank->communicator() : without;
        return communicator.Run({.kind = Kind::kAllReduce,
                                 .type = type,
                                 .op = ReduceOp::kAverage,
                                 .count = count,
                                 .input = values[endpoint.rank()].data(),
                                 .output = values[endpoint.rank()].data(),
                                 .name = "values",
                                 .algorithm = {}});
      }));
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      EXPECT_TRUE(SameBits(results[1][rank], results[0][0])) << NameOf(type) << ", rank " << rank;
    }
  }
}

// Bytes that are lent between hosts are read before the caller has its buffer back.
TEST_P(TwoLevelTest, LendsBytesBetweenHosts) {
  constexpr int64_t kCount = 200'000;
  Endpoints endpoints = net::MakeInprocEndpoints(
      ranks(), clock_, {.queue_bytes = 20'000, .short_moves_seed = 5, .borrow = true});
  ExpectAllWell(RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    ASSIGN_OR_RETURN(const auto rank, Open(endpoint));
    for (const bool in_place : {true, false}) {
      RETURN_IF_ERROR(
          CheckOne(*rank, DataType::kFloat32, ReduceOp::kSum, kCount, in_place, in_place));
    }
    return absl::OkStatus();
  }));
}

// Collectives that go over the endpoint are in flight where one in two levels begins.
TEST_P(TwoLevelTest, MixesWithOthersInFlight) {
  constexpr int64_t kCount = 20'011;
  Endpoints endpoints = net::MakeTcpEndpoints(ranks(), clock_);
  ExpectAllWell(RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    ASSIGN_OR_RETURN(const auto rank, Open(endpoint));
    Communicator& communicator = rank->communicator();
    const int64_t before =
        *communicator.Start({.kind = Kind::kBarrier, .name = "", .algorithm = {}});
    std::vector<Bytes> buffers;
    for (int i = 0; i < 4; ++i) {
      buffers.push_back(InputOf(DataType::kFloat32, endpoint.rank(), kCount));
    }
    for (int i = 0; i < 4; ++i) {
      const Algorithm algorithm = i % 2 == 0 ? Algorithm::kRing : Algorithm::kHierarchical;
      ASSIGN_OR_RETURN(const int64_t number, communicator.Start({.kind = Kind::kAllReduce,
                                                                 .op = ReduceOp::kSum,
                                                                 .count = kCount,
                                                                 .input = buffers[i].data(),
                                                                 .output = buffers[i].data(),
                                                                 .name = "values",
                                                                 .algorithm = algorithm}));
      EXPECT_EQ(number, before + 1 + i);
    }
    for (int i = 3; i >= 0; --i) {
      RETURN_IF_ERROR(communicator.Finish(before + 1 + i));
      EXPECT_TRUE(communicator.IsDone(before + 1 + i));
      EXPECT_EQ(buffers[i], ReductionOf(DataType::kFloat32, ReduceOp::kSum, ranks(), kCount));
    }
    return absl::OkStatus();
  }));
}

// A call that is alike one from before the memory came takes it too.
TEST_P(TwoLevelTest, TakesMemoryThatComesLater) {
  constexpr int64_t kCount = 300;
  Endpoints endpoints = net::MakeInprocEndpoints(ranks(), clock_);
  ExpectAllWell(RunRanks(endpoints, [&](net::Endpoint& endpoint) -> absl::Status {
    const os::SharedBufferRegistry registry;
    HostSharing sharing;
    Communicator::Options options = TestOptions(Algorithm::kHierarchical);
    options.host_of = GetParam().host_of;
    Communicator communicator(endpoint, options, clock_);
    for (const bool shares : {false, true}) {
      if (shares) {
        const int host = GetParam().host_of[endpoint.rank()];
        ASSIGN_OR_RETURN(
            sharing, ShareHost(communicator, static_cast<uint64_t>(host), {}, registry, clock_));
        if (sharing.group != nullptr) communicator.UseSharedMemory(*sharing.group);
      }
      Bytes values = InputOf(DataType::kFloat32, endpoint.rank(), kCount);
      RETURN_IF_ERROR(communicator.Run({.kind = Kind::kAllReduce,
                                        .op = ReduceOp::kSum,
                                        .count = kCount,
                                        .input = values.data(),
                                        .output = values.data(),
                                        .name = "values",
                                        .algorithm = {}}));
      EXPECT_EQ(values, ReductionOf(DataType::kFloat32, ReduceOp::kSum, ranks(), kCount));
    }
    if (sharing.group != nullptr) {
      EXPECT_GT(sharing.group->path_counts().small, 0);
    }
    return absl::OkStatus();
  }));
}

INSTANTIATE_TEST_SUITE_P(All, TwoLevelTest,
                         testing::Values(Layout{"OneAndThree", {0, 1, 1, 1}},
                                         Layout{"TwoAndTwo", {0, 0, 1, 1}},
                                         Layout{"ThreeTwoOne", {0, 0, 0, 1, 1, 2}},
                                         Layout{"Interleaved", {0, 1, 0, 1, 0}},
                                         Layout{"TwoAndThree", {4, 4, 7, 7, 7}},
                                         Layout{"TwoOfThreeHosts", {2, 0, 1, 1, 0, 2}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace crossover::allreduce
