// Whatever goes wrong on one rank ends every rank with an error that names the
// cause; none waits for its deadline, none returns wrong values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/communicator.h"
#include "allreduce/test_support.h"
#include "core/clock.h"
#include "net/faulty_endpoint.h"
#include "net/inproc_endpoint.h"
#include "net/tcp_endpoint.h"
#include "net/tcp_test_support.h"

namespace crossover::allreduce {
namespace {

using testing::HasSubstr;

constexpr int kWorldSize = 3;
constexpr int64_t kCount = 5000;  // more than travels with a frame

std::vector<std::tuple<Kind, Algorithm>> AllCases() {
  std::vector<std::tuple<Kind, Algorithm>> cases;
  for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                          Kind::kBroadcast, Kind::kBarrier}) {
    for (const Algorithm algorithm : AlgorithmsOf(kind)) cases.emplace_back(kind, algorithm);
  }
  return cases;
}

class CommunicatorFaultTest : public testing::TestWithParam<std::tuple<Kind, Algorithm>> {
 protected:
  Kind kind() const { return std::get<0>(GetParam()); }
  Communicator::Options Options() const {
    Communicator::Options options = TestOptions(std::get<1>(GetParam()));
    options.host_of = {0, 0, 1};
    return options;
  }
  int64_t Count() const { return kind() == Kind::kBarrier ? 0 : kCount; }

  // Three collectives in flight, and a barrier so that everyone learns of a fault that comes when
  // a rank owes nothing to some.
  // `past`: the three have ended here, so that a fault may come too late for the others.
  absl::Status Work(net::Endpoint& endpoint, std::atomic<bool>* past = nullptr) {
    Communicator communicator(endpoint, Options(), clock_);
    const int64_t blocks = kWorldSize * Count();
    std::vector<std::vector<float>> inputs(3, std::vector<float>(blocks, 1));
    std::vector<std::vector<float>> outputs(3, std::vector<float>(blocks));
    for (int i = 0; i < 3; ++i) {
      const absl::Status status = communicator
                                      .Start({.kind = kind(),
                                              .op = ReduceOp::kSum,
                                              .count = Count(),
                                              .input = inputs[i].data(),
                                              .output = outputs[i].data(),
                                              .name = "values",
                                              .algorithm = {}})
                                      .status();
      if (!status.ok()) return status;
    }
    if (const absl::Status status = communicator.Finish(2); !status.ok()) return status;
    CheckValues(outputs);
    if (past != nullptr) *past = true;
    return communicator.Run({.kind = Kind::kBarrier, .name = "", .algorithm = {}});
  }
  void CheckValues(const std::vector<std::vector<float>>& outputs) const {
    const bool sums = kind() == Kind::kAllReduce || kind() == Kind::kReduceScatter;
    const int64_t count = kind() == Kind::kAllGather ? kWorldSize * Count() : Count();
    for (const std::vector<float>& output : outputs) {
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(output[i], sums ? kWorldSize : 1);
    }
  }

  static void ExpectAllFail(const std::vector<absl::Status>& statuses, const std::string& cause) {
    for (const absl::Status& status : statuses) {
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(std::string(status.message()), HasSubstr(cause));
    }
  }

  SystemClock clock_;
};

TEST_P(CommunicatorFaultTest, EveryMoveThatFailsEndsEveryRank) {
  for (int faulty = 0; faulty < kWorldSize; ++faulty) {
    for (int64_t fail_at = 0;; ++fail_at) {
      SCOPED_TRACE(testing::Message() << "rank " << faulty << " fails move " << fail_at);
      std::atomic<bool> struck = false;
      std::atomic<bool> past = false;
      Endpoints endpoints = net::MakeInprocEndpoints(kWorldSize, clock_);
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& inner) {
        net::FaultPlan plan;
        plan.failure = absl::InternalError("the cable was cut");
        if (inner.rank() == faulty) plan.fail_at = fail_at;
        net::FaultyEndpoint endpoint(inner, plan, clock_);
        const absl::Status status = Work(endpoint, inner.rank() == faulty ? &past : nullptr);
        if (inner.rank() == faulty) struck = endpoint.has_struck();
        return status;
      });
      if (!struck) {
        EXPECT_GT(fail_at, 2) << "too few moves to prove anything";
        break;  // all moves have had their turn
      }
      // In the barrier a rank may have all that it waits for before the fault.
      if (!past) ExpectAllFail(statuses, "the cable was cut");
      if (HasFailure()) return;
    }
  }
}

TEST_P(CommunicatorFaultTest, ARankThatDiesWithoutAWordAtEveryMoveIsNamed) {
  for (int dying = 0; dying < kWorldSize; ++dying) {
    for (int64_t die_at = 0;; ++die_at) {
      SCOPED_TRACE(testing::Message() << "rank " << dying << " dies at move " << die_at);
      std::atomic<bool> struck = false;
      std::atomic<bool> past = false;
      Endpoints endpoints = net::MakeInprocEndpoints(kWorldSize, clock_);
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& inner) {
        net::FaultPlan plan;
        if (inner.rank() == dying) plan.die_at = die_at;
        plan.die = net::CutInprocConnections;
        net::FaultyEndpoint endpoint(inner, plan, clock_);
        const absl::Status status = Work(endpoint, inner.rank() == dying ? &past : nullptr);
        if (inner.rank() == dying) struck = endpoint.has_struck();
        return status;
      });
      if (!struck) break;
      for (int rank = 0; rank < kWorldSize; ++rank) {
        if (rank == dying || (past && statuses[rank].ok())) continue;
        EXPECT_FALSE(statuses[rank].ok());
        EXPECT_THAT(std::string(statuses[rank].message()),
                    HasSubstr("rank " + std::to_string(dying)));
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(CommunicatorFaultTest, ALateRankIsWaitedFor) {
  Endpoints endpoints = net::MakeTcpEndpoints(kWorldSize, clock_);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& inner) {
    net::FaultPlan plan;
    plan.delay_at = inner.rank();
    plan.delay_ns = 20'000'000;
    net::FaultyEndpoint endpoint(inner, plan, clock_);
    return Work(endpoint);
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

TEST_P(CommunicatorFaultTest, ARankThatNeverComesIsMissedByName) {
  for (int missing = 0; missing < kWorldSize; ++missing) {
    SCOPED_TRACE(missing);
    Endpoints endpoints = net::MakeTcpEndpoints(kWorldSize, clock_);
    std::atomic<int> failed = 0;
    const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
      if (endpoint.rank() == missing) {  // alive, and elsewhere
        while (failed < kWorldSize - 1) clock_.SleepNs(1'000'000);
        return absl::OkStatus();
      }
      Communicator::Options options = Options();
      options.engine.silence_s = 0.2;
      Communicator communicator(endpoint, options, clock_);
      std::vector<float> values(kWorldSize * Count());
      std::vector<float> others(kWorldSize * Count());
      const absl::Status status = communicator.Run({.kind = kind(),
                                                    .count = Count(),
                                                    .input = values.data(),
                                                    .output = others.data(),
                                                    .name = "gradients",
                                                    .algorithm = {}});
      ++failed;
      return status;
    });
    for (int rank = 0; rank < kWorldSize; ++rank) {
      if (rank == missing || statuses[rank].ok()) continue;  // a root may owe and await nothing
      EXPECT_THAT(std::string(statuses[rank].message()),
                  HasSubstr("missing, without a word of what it does: rank " +
                            std::to_string(missing) + " (not heard here)"));
      EXPECT_THAT(std::string(statuses[rank].message()), HasSubstr("\"gradients\""));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CommunicatorFaultTest, testing::ValuesIn(AllCases()),
                         [](const auto& info) {
                           return TestName(std::get<0>(info.param), std::get<1>(info.param));
                         });

// What one rank does differently from the others.
struct Difference {
  const char* name;
  void (*change)(Communicator::Request& request);
  const char* theirs;  // in the error, of the odd rank
  const char* ours;    // and of the others
};
class CommunicatorMismatchTest : public testing::TestWithParam<Difference> {};

TEST_P(CommunicatorMismatchTest, EndsEveryRankWithBothSides) {
  SystemClock clock;
  for (int odd = 0; odd < kWorldSize; ++odd) {
    for (const Algorithm algorithm : AlgorithmsOf(Kind::kAllReduce)) {
      SCOPED_TRACE(testing::Message() << "rank " << odd << ", " << NameOf(algorithm));
      Endpoints endpoints = net::MakeTcpEndpoints(kWorldSize, clock);
      const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
        Communicator communicator(endpoint, TestOptions(algorithm), clock);
        std::vector<double> values(1000);
        Communicator::Request request = {.count = 300,
                                         .input = values.data(),
                                         .output = values.data(),
                                         .name = "bucket 3",
                                         .algorithm = {}};
        if (endpoint.rank() == odd) GetParam().change(request);
        return communicator.Run(request);
      });
      for (const absl::Status& status : statuses) {
        EXPECT_FALSE(status.ok());
        const std::string message(status.message());
        EXPECT_THAT(message, HasSubstr("rank " + std::to_string(odd)));
        EXPECT_THAT(message, HasSubstr(GetParam().theirs));
        EXPECT_THAT(message, HasSubstr(GetParam().ours));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CommunicatorMismatchTest,
    testing::Values(
        Difference{"Count", [](auto& request) { request.count = 299; }, "299 fp32", "300 fp32"},
        Difference{"Empty", [](auto& request) { request.count = 0; }, "0 fp32", "300 fp32"},
        Difference{"Type", [](auto& request) { request.type = DataType::kFloat64; }, "fp64",
                   "fp32"},
        Difference{"Op", [](auto& request) { request.op = ReduceOp::kMax; }, "max", "sum"},
        Difference{"Name", [](auto& request) { request.name = "bucket 4"; }, "bucket 4",
                   "bucket 3"},
        // Names of parameters are long and begin alike.
        Difference{"LongName",
                   [](auto& request) { request.name = "encoder.layer.11.attention.self.key"; },
                   "encoder.layer.11.attent~", "bucket 3"},
        Difference{"Kind", [](auto& request) { request.kind = Kind::kBroadcast; }, "Broadcast",
                   "AllReduce"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CommunicatorMismatch, OfHowManyCollectivesThereWere) {
  SystemClock clock;
  Endpoints endpoints = net::MakeTcpEndpoints(kWorldSize, clock);
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    std::vector<float> values(100);
    Communicator communicator(endpoint, TestOptions(Algorithm::kRing), clock);
    const absl::Status first = communicator.AllReduceSum(values, "w");
    if (!first.ok()) return first;
    Communicator afresh(endpoint, TestOptions(Algorithm::kRing), clock);
    return endpoint.rank() == 1 ? afresh.AllReduceSum(values, "w")
                                : communicator.AllReduceSum(values, "w");
  });
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(std::string(status.message()), HasSubstr("AllReduce 0 "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("AllReduce 1 "));
  }
}

TEST(CommunicatorAbort, FromAnotherThreadWakesTheRankAndItsPeers) {
  SystemClock clock;
  Endpoints endpoints = net::MakeTcpEndpoints(kWorldSize, clock);
  net::Endpoint& aborted = *endpoints[1];
  const auto statuses = RunRanks(endpoints, [&](net::Endpoint& endpoint) {
    std::vector<float> values(100);
    // Rank 2 is what the others wait for until then.
    if (endpoint.rank() == 2) aborted.Abort(absl::CancelledError("the run was aborted"));
    return Communicator(endpoint, TestOptions(Algorithm::kRing), clock).AllReduceSum(values, "w");
  });
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(std::string(status.message()), HasSubstr("the run was aborted"));
  }
}

}  // namespace
}  // namespace crossover::allreduce
