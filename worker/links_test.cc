#include "worker/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/tcp_test_support.h"

namespace crossover::worker {
namespace {

using testing::HasSubstr;

// Two workers and a server on loopback, of which a test opens what it needs.
class LinksTest : public testing::Test {
 protected:
  LinksTest() {
    job_.set_workers(2);
    job_.set_servers(1);
    for (int rank = 0; rank < 2; ++rank) {
      roster_.workers.push_back({.rank = rank, .data_address = world_.addresses[rank]});
    }
    // It accepts, as the kernel does for it, and never says a word.
    roster_.servers.push_back({.rank = 0, .data_address = world_.addresses[2]});
  }

  absl::StatusOr<std::unique_ptr<Links>> Open(int rank,
                                              std::function<absl::Status()> cancelled = nullptr) {
    PeerListener listener = std::move(over_grpc_[rank]);
    if (listener.grpc == nullptr) listener.tcp = std::move(world_.listeners[rank]);
    return Links::Open({.job = job_,
                        .identity = identities_[rank],
                        .roster = roster_,
                        .listener = std::move(listener),
                        .buckets = buckets_,
                        .shared_buffers = shared_buffers_,
                        .total_steps = 10,
                        .cancelled = std::move(cancelled)},
                       timelines_[rank]);
  }
  // Both workers' links; each connects from a thread of its own.
  std::array<std::unique_ptr<Links>, 2> OpenBoth() {
    std::array<std::unique_ptr<Links>, 2> links;
    std::thread other([&] { links[1] = std::move(Open(1)).value_or(nullptr); });
    links[0] = std::move(Open(0)).value_or(nullptr);
    other.join();
    return links;
  }

  void ListenOverGrpc() {
    job_.mutable_allreduce()->set_transport(proto::Transport::grpc);
    for (int rank = 0; rank < 2; ++rank) {
      auto listener = ListenForPeers(job_, "127.0.0.1", 0, "");
      ASSERT_TRUE(listener.ok()) << listener.status();
      roster_.workers[rank].data_address = listener->address();
      over_grpc_[rank] = *std::move(listener);
    }
  }

  proto::Job job_;
  std::array<PeerListener, 2> over_grpc_;
  net::TestWorld world_{3};
  net::Roster roster_;
  std::array<net::Identity, 2> identities_ = {net::TestIdentity(0), net::TestIdentity(1)};
  const os::SharedBufferRegistry shared_buffers_;
  const BucketPlan buckets_ = MakeBucketPlan(FlatLayout(), 4, 4);
  SystemClock clock_;
  std::array<Timeline, 2> timelines_ = {Timeline(clock_), Timeline(clock_)};
};

TEST_F(LinksTest, OpensNothingWhereTheStrategyNeedsNothing) {
  job_.set_strategy(proto::Strategy::single);
  const auto none = Open(0);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)->communicator(), nullptr);
  EXPECT_EQ((*none)->servers(), nullptr);
  (*none)->Abort(absl::UnavailableError("harms nothing"));
}

TEST_F(LinksTest, OpensACommunicatorOfTheWorkers) {
  job_.set_strategy(proto::Strategy::allreduce_ring);
  const auto both = OpenBoth();
  ASSERT_NE(both[0], nullptr);
  ASSERT_NE(both[1], nullptr);
  EXPECT_EQ(both[1]->communicator()->rank(), 1);
  EXPECT_EQ(both[1]->communicator()->world_size(), 2);
  EXPECT_EQ(both[0]->servers(), nullptr);
}

TEST_F(LinksTest, AbortEndsACollectiveThatWaitsForAPeer) {
  job_.set_strategy(proto::Strategy::allreduce_ring);
  const auto links = OpenBoth();
  ASSERT_NE(links[0], nullptr);
  ASSERT_NE(links[1], nullptr);
  absl::Status status;
  std::thread waits([&] {
    std::vector<float> values(1000);
    status =
        links[0]->communicator()->AllReduceSum(values, "gradients");  // worker 1 never joins in
  });
  links[0]->Abort(absl::UnavailableError("worker 1 was lost in step 7"));
  waits.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("worker 1 was lost in step 7"));
}

TEST_F(LinksTest, CollectivesGoThroughGrpcStreams) {
  job_.set_strategy(proto::Strategy::allreduce_ring);
  ListenOverGrpc();
  const auto links = OpenBoth();
  ASSERT_NE(links[0], nullptr);
  ASSERT_NE(links[1], nullptr);
  EXPECT_EQ(links[0]->transport(), "grpc; algorithm ring for all sizes");
  std::array<std::vector<float>, 2> values = {std::vector<float>(100'000, 1),
                                              std::vector<float>(100'000, 2)};
  std::array<absl::Status, 2> statuses;
  std::thread other(
      [&] { statuses[1] = links[1]->communicator()->AllReduceSum(values[1], "gradients"); });
  statuses[0] = links[0]->communicator()->AllReduceSum(values[0], "gradients");
  other.join();
  EXPECT_TRUE(statuses[0].ok() && statuses[1].ok()) << statuses[0] << statuses[1];
  EXPECT_EQ(values[0], std::vector<float>(100'000, 3));
  EXPECT_EQ(values[1], values[0]);
}

TEST_F(LinksTest, AStrangersTokenIsRefusedOverGrpcToo) {
  job_.set_strategy(proto::Strategy::allreduce_ring);
  job_.mutable_deadlines()->set_join_s(2);
  ListenOverGrpc();
  identities_[1].token = "another job's";
  std::thread other([&] { EXPECT_FALSE(Open(1).ok()); });
  const absl::Status status = Open(0).status();
  other.join();
  EXPECT_THAT(std::string(status.message()), HasSubstr("token"));
}

TEST_F(LinksTest, ChoosesByTheFitOfTheJobAndSaysSo) {
  job_.set_strategy(proto::Strategy::allreduce_ring);
  job_.mutable_allreduce()->set_algorithm(proto::AllReduce::automatic);
  job_.mutable_allreduce()->set_fit("mine.jsonl");
  proto::TransportCosts& costs = *job_.mutable_allreduce()->add_costs();
  costs.set_transport("tcp");
  costs.set_network("1gbit");
  costs.set_alpha_us(1e-3);
  costs.set_beta_us_per_byte(1);  // steps cost nothing beside bytes
  const auto links = OpenBoth();
  ASSERT_NE(links[0], nullptr);
  ASSERT_NE(links[1], nullptr);
  EXPECT_EQ(links[0]->transport(),
            "tcp; algorithm automatic: ring for all sizes, by the fit mine.jsonl (tcp, 1gbit)");
  ASSERT_EQ(links[0]->all_reduces().size(), 1);
  EXPECT_EQ(links[0]->all_reduces()[0].algorithm(), "ring");
  EXPECT_EQ(links[0]->all_reduces()[0].up_to_bytes(), 0);
}

TEST_F(LinksTest, WithoutAFitTheShippedConstantsChoose) {
  job_.set_strategy(proto::Strategy::allreduce_ring);
  job_.mutable_allreduce()->set_algorithm(proto::AllReduce::automatic);
  const auto links = OpenBoth();
  ASSERT_NE(links[0], nullptr);
  EXPECT_THAT(links[0]->transport(), testing::StartsWith("tcp; algorithm automatic: "));
  EXPECT_THAT(links[0]->transport(), testing::EndsWith(", by the shipped defaults"));
}

TEST_F(LinksTest, WhereAllShareAHostMemoryCarriesEverything) {
  job_.set_strategy(proto::Strategy::allreduce_ring);
  job_.mutable_allreduce()->set_algorithm(proto::AllReduce::hierarchical);
  job_.mutable_allreduce()->set_transport(proto::Transport::automatic);
  const auto links = OpenBoth();
  ASSERT_NE(links[0], nullptr);
  ASSERT_NE(links[1], nullptr);
  EXPECT_EQ(links[0]->transport(), "shared memory: all 2 ranks are on this host");
  ASSERT_EQ(links[0]->all_reduces().size(), 1);
  EXPECT_EQ(links[0]->all_reduces()[0].algorithm(), "shared_memory");
  EXPECT_EQ(links[0]->all_reduces()[0].hosts_sharing_memory(), 0);
}

TEST_F(LinksTest, ARunThatIsAbortedEndsTheConnecting) {
  const auto lost = [] { return absl::AbortedError("worker 1 never came"); };
  for (const proto::Strategy::Name strategy :
       {proto::Strategy::allreduce_ring, proto::Strategy::ps_sync}) {
    job_.set_strategy(strategy);
    const absl::Status status = Open(0, lost).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("worker 1 never came"));
  }
}

}  // namespace
}  // namespace crossover::worker
