// How values travel between workers and servers, which no result may depend on but for rounding:
// connections, apply threads, halves; and what servers hold meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/reduce.h"
#include "net/tls_pem.h"
#include "ps/exchange_testing.h"

namespace crossover::ps {
namespace {

TEST(Travel, NeitherChannelsNorThreadsChangeABit) {
  for (const int channels : {1, 3}) {
    for (const int threads : {0, 1, 3}) {
      proto::Job job = TestJob(proto::Strategy::ps_sync, 3, 2);
      job.set_deterministic(true);
      job.mutable_ps()->set_credits(2);
      job.mutable_ps()->set_channels(channels);
      job.mutable_ps()->set_apply_threads(threads);
      TestCluster cluster(job, {40, 0, 60});
      const std::vector<float> expected = SerialSync(job, 10);
      for (const auto& result : TrainAll(cluster, 10)) {
        EXPECT_EQ(result, expected) << channels << " channels, " << threads << " threads";
      }
      EXPECT_THAT(cluster.lost(), testing::IsEmpty());
    }
  }
}

TEST(Travel, UnixSocketsCarryTheSameBits) {
  proto::Job job = TestJob(proto::Strategy::ps_sync, 3, 2);
  job.set_deterministic(true);
  job.mutable_ps()->set_channels(2);
  job.mutable_ps()->set_unix_sockets(true);
  TestCluster cluster(job, {40, 0, 60});
  EXPECT_EQ(cluster.ClientOptions(0).DescribeRoutes(),
            "through Unix sockets to server 0, server 1");
  const std::vector<float> expected = SerialSync(job, 10);
  for (const auto& result : TrainAll(cluster, 10)) EXPECT_EQ(result, expected);
  EXPECT_THAT(cluster.lost(), testing::IsEmpty());
}

// Streams that are encrypted, over TCP and over Unix sockets; a worker with another certificate, or
// none, gets nowhere.
TEST(Travel, TlsCarriesTheSameBitsAndKeepsOthersOut) {
  for (const bool unix_sockets : {false, true}) {
    proto::Job job = TestJob(proto::Strategy::ps_sync, 2, 1);
    job.set_deterministic(true);
    job.set_tls(true);
    job.mutable_ps()->set_unix_sockets(unix_sockets);
    TestCluster cluster(job, {40, 0, 60});
    const std::vector<float> expected = SerialSync(job, 10);
    for (const std::string& pem : {std::string(), *net::MakeTlsPem()}) {
      Timeline timeline(cluster.clock());
      ClientOptions stranger = cluster.ClientOptions(0);
      stranger.identity.tls_pem = pem;
      stranger.connect_s = 0.5;
      EXPECT_FALSE(Client::Connect(stranger, cluster.buckets(), timeline).ok());
    }
    for (const auto& result : TrainAll(cluster, 10)) EXPECT_EQ(result, expected);
    EXPECT_THAT(cluster.lost(), testing::IsEmpty());
  }
}

// A server without one, and one whose socket is another network namespace's (here: nobody's).
TEST(Travel, ServersWithoutAUnixSocketHereAreReachedThroughTcp) {
  proto::Job job = TestJob(proto::Strategy::ps_sync, 1, 2);
  const TestCluster cluster(job, {40});
  EXPECT_EQ(cluster.ClientOptions(0).DescribeRoutes(), "through TCP to server 0, server 1");
  job.mutable_ps()->set_unix_sockets(true);
  const TestCluster near(job, {40});
  const std::vector<net::RosterMember> servers = {
      {0, "127.0.0.1:1", "crossover-0123456789abcdef"},
      {1, near.server(1).address(), near.server(1).unix_socket()}};
  const ClientOptions options = ClientOptionsOf(job, near.WorkerIdentity(0), servers);
  EXPECT_EQ(options.DescribeRoutes(), "through Unix sockets to server 1; through TCP to server 0");
  EXPECT_EQ(options.TargetOf(0), "127.0.0.1:1");
  EXPECT_EQ(options.TargetOf(1), "unix-abstract:" + servers[1].unix_socket);
}

// Halves travel both ways, of which reports tell; servers sum and keep in fp32.
TEST(Travel, HalvesAreCloseAndHalfAsManyBytes) {
  for (const auto wire : {proto::ParameterServer::fp16, proto::ParameterServer::bf16}) {
    proto::Job job = TestJob(proto::Strategy::ps_sync, 3, 2);
    job.mutable_ps()->set_wire(wire);
    TestCluster cluster(job, {40, 0, 60});
    const auto parameters = TrainAll(cluster, 10);
    const std::vector<float> expected = SerialSync(job, 10);
    const double difference = RelativeDifference(parameters[0], expected);
    EXPECT_GT(difference, 0);  // else nothing was rounded
    EXPECT_LT(difference, wire == proto::ParameterServer::fp16 ? 1e-3 : 1e-2);
    for (const auto& result : parameters) EXPECT_EQ(result, parameters[0]);
    const proto::ServerReport report = cluster.server(0).report();
    EXPECT_EQ(report.payload_received_bytes(), report.parameter_bytes() / 2 * 3 * 10);
    EXPECT_EQ(report.payload_sent_bytes(), report.parameter_bytes() / 2 * 3 * 10);
  }
}

TEST(Travel, AServerSaysWhatItHoldsAndHowEvenly) {
  proto::Job job = TestJob(proto::Strategy::ps_async, 1, 2);
  job.mutable_ps()->set_apply_threads(3);
  TestCluster cluster(job, {41, 0, 59});
  TrainAll(cluster, 1);
  EXPECT_THAT(cluster.holdings(),
              testing::UnorderedElementsAre("holds 204 bytes of parameters in 14 parts; the "
                                            "largest server has 1.020 of the mean, its "
                                            "largest of 3 apply threads 1.059",
                                            "holds 196 bytes of parameters in 13 parts; the "
                                            "largest server has 1.020 of the mean, its "
                                            "largest of 3 apply threads 1.041"));
}

// However large the model, and however long the run: served_shards.h says what is held.
TEST(Travel, WhatServersHoldIsBoundedByCredits) {
  constexpr int kWorkers = 4;
  constexpr int kCredits = 3;
  for (const auto strategy : {proto::Strategy::ps_sync, proto::Strategy::ps_async}) {
    for (const bool deterministic : {false, true}) {
      if (deterministic && strategy == proto::Strategy::ps_async) continue;
      proto::Job job = TestJob(strategy, kWorkers, 2);
      job.set_deterministic(deterministic);
      job.mutable_ps()->set_credits(kCredits);
      job.mutable_ps()->set_part_bytes(16);
      TestCluster cluster(job, {40, 0, 60});
      TrainAll(cluster, 20);
      const proto::ServerReport report = cluster.server(0).report();
      EXPECT_GT(report.transient_bytes_max(), 0);
      EXPECT_LE(report.transient_bytes_max(), 4 * kWorkers * kCredits * 16);
    }
  }
}

}  // namespace
}  // namespace crossover::ps
