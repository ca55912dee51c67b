// How a world of ranks gets its connections, and what becomes of everybody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/endpoint_test_support.h"
#include "net/socket.h"
#include "net/tcp_endpoint.h"
#include "net/tcp_handshake.h"
#include "net/tcp_test_support.h"

namespace crossover::net {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using EndpointOr = absl::StatusOr<std::unique_ptr<Endpoint>>;

std::string Text(const EndpointOr& endpoint) { return std::string(endpoint.status().message()); }

class TcpMeshTest : public testing::Test {
 protected:
  std::future<EndpointOr> Connect(TestWorld& world, TcpEndpointOptions options) {
    return std::async(std::launch::async, [this, &world, options = std::move(options)] {
      return ConnectTcp(std::move(world.listeners[options.identity.rank]), options, clock_);
    });
  }
  // What a rank answers to a client that says this.
  static absl::StatusOr<Greeting> Greet(RawClient& client, const Greeting& greeting) {
    client.Send(EncodeGreeting(greeting));
    GreetingBytes answer{};
    const std::vector<std::byte> bytes = client.Read(answer.size());
    if (bytes.size() != answer.size()) return absl::UnavailableError("no answer");
    std::copy(bytes.begin(), bytes.end(), answer.begin());
    return DecodeGreeting(answer);
  }

  SystemClock clock_;
};

TEST_F(TcpMeshTest, EveryPairOfRanksIsConnected) {
  constexpr int kWorldSize = 5;
  const auto endpoints = MakeTcpEndpoints(kWorldSize, clock_);
  std::vector<std::future<void>> ranks;
  for (int rank = 0; rank < kWorldSize; ++rank) {
    ranks.push_back(std::async(std::launch::async, [&, rank] {
      const std::array<std::byte, 1> own = {std::byte(rank)};
      for (int distance = 1; distance < kWorldSize; ++distance) {
        const int to = (rank + distance) % kWorldSize;
        const int from = (rank + kWorldSize - distance) % kWorldSize;
        std::array<std::byte, 1> theirs{};
        const absl::Status status = ExchangeAll(*endpoints[rank], to, own, from, theirs);
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(theirs[0], std::byte(from)) << "someone else's connection";
      }
    }));
  }
}

TEST_F(TcpMeshTest, AWorldOfOneNeedsNobody) {
  TestWorld world(1);
  const EndpointOr endpoint = Connect(world, world.Options(0)).get();
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ((*endpoint)->world_size(), 1);
}

// Rank 1 of 2 waits for rank 0 while others knock.
class StrangerTest : public TcpMeshTest {
 protected:
  StrangerTest() : waiting_(Connect(world_, world_.Options(1))) {}
  // After everything, the ranks find each other.
  ~StrangerTest() override {
    const EndpointOr other = Connect(world_, world_.Options(0)).get();
    EXPECT_TRUE(other.ok()) << other.status();
    const EndpointOr endpoint = waiting_.get();
    EXPECT_TRUE(endpoint.ok()) << endpoint.status();
  }
  void ExpectRefused(const Greeting& greeting, const std::string& why) {
    RawClient client(world_.addresses[1]);
    const absl::StatusOr<Greeting> answer = Greet(client, greeting);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_NE(answer->status, 0u);
    EXPECT_THAT(answer->text, HasSubstr(why));
    EXPECT_THAT(answer->text, testing::Not(HasSubstr(TestIdentity(0).token)));
    EXPECT_EQ(client.ReadToEnd(), "") << "closed";
  }

  TestWorld world_{2};
  std::future<EndpointOr> waiting_;
};

TEST_F(StrangerTest, WhoeverSpeaksAnotherProtocolGetsOneLine) {
  RawClient client(world_.addresses[1]);
  client.Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.ReadToEnd(), kStrangerLine);
}

TEST_F(StrangerTest, TheWrongTokenIsRefused) {
  Identity identity = TestIdentity(0);
  identity.token[31] = '0';
  ExpectRefused(MakeGreeting(identity, 2, Channel::kData), "wrong token");
}

TEST_F(StrangerTest, AnotherJobIsRefused) {
  Identity identity = TestIdentity(0);
  identity.job_fingerprint = 43;
  ExpectRefused(MakeGreeting(identity, 2, Channel::kData), "another job");
}

TEST_F(StrangerTest, AnotherWorldSizeIsRefused) {
  ExpectRefused(MakeGreeting(TestIdentity(0), 3, Channel::kData), "believes in 3 ranks");
}

TEST_F(StrangerTest, AWrongRankIsRefused) {
  ExpectRefused(MakeGreeting(TestIdentity(1), 2, Channel::kData), "says that it is rank 1");
  ExpectRefused(MakeGreeting(TestIdentity(2), 2, Channel::kData), "says that it is rank 2");
  ExpectRefused(MakeGreeting(TestIdentity(-1), 2, Channel::kData),
                "says that it is rank 4294967295");
}

TEST_F(StrangerTest, AnotherVersionIsRefused) {
  Greeting greeting = MakeGreeting(TestIdentity(0), 2, Channel::kData);
  greeting.version = 1;
  ExpectRefused(greeting, "version 1");
}

TEST_F(StrangerTest, HalfAGreetingHarmsNobody) {
  RawClient client(world_.addresses[1]);
  const GreetingBytes bytes = EncodeGreeting(MakeGreeting(TestIdentity(0), 2, Channel::kData));
  client.Send(std::span(bytes).first(100));
  client.Close();
}

TEST_F(TcpMeshTest, SilentConnectionsHoldNobodyUp) {
  TestWorld world(2);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<RawClient>(world.addresses[1]));
  std::future<EndpointOr> upper = Connect(world, world.Options(1));
  const EndpointOr lower = Connect(world, world.Options(0)).get();
  EXPECT_TRUE(lower.ok()) << lower.status();
  EXPECT_TRUE(upper.get().ok());
}

TEST_F(TcpMeshTest, ASilentConnectionIsDroppedAfterItsTime) {
  TestWorld world(2);
  TcpEndpointOptions options = world.Options(1);
  options.handshake_s = 0.05;
  std::future<EndpointOr> upper = Connect(world, options);
  RawClient silent(world.addresses[1]);
  EXPECT_EQ(silent.ReadToEnd(), kStrangerLine);
  EXPECT_TRUE(Connect(world, world.Options(0)).get().ok());
  EXPECT_TRUE(upper.get().ok());
}

TEST_F(TcpMeshTest, ARankThatComesTwiceIsRefusedTheSecondTime) {
  TestWorld world(3);
  std::future<EndpointOr> top = Connect(world, world.Options(2));
  std::vector<std::unique_ptr<RawClient>> welcome;
  const auto greet = [&](int rank, Channel channel) {
    welcome.push_back(std::make_unique<RawClient>(world.addresses[2]));
    return Greet(*welcome.back(), MakeGreeting(TestIdentity(rank), 3, channel));
  };
  const auto accepted = greet(1, Channel::kData);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(accepted->status, 0u);
  EXPECT_EQ(accepted->rank, 2u);
  const auto refused = greet(1, Channel::kData);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_THAT(refused->text, HasSubstr("rank 1 is connected to rank 2 already"));
  // The first is still welcome, and the missing ones too.
  ASSERT_TRUE(greet(0, Channel::kControl).ok());
  ASSERT_TRUE(greet(1, Channel::kControl).ok());
  ASSERT_TRUE(greet(0, Channel::kData).ok());
  EXPECT_TRUE(top.get().ok());
}

TEST_F(TcpMeshTest, ARankThatIsLostDuringSetUpIsNamed) {
  for (const Channel channel : kChannels) {
    TestWorld world(3);
    std::future<EndpointOr> top = Connect(world, world.Options(2));
    RawClient client(world.addresses[2]);
    ASSERT_TRUE(Greet(client, MakeGreeting(TestIdentity(1), 3, channel)).ok());
    client.Close();
    EXPECT_EQ(Text(top.get()), "rank 1 at " + world.addresses[1] +
                                   " closed the connection while the others were being made");
  }
}

TEST_F(TcpMeshTest, HalfOfARanksConnectionsAreNotEnough) {
  TestWorld world(2);
  TcpEndpointOptions options = world.Options(1);
  options.connect_s = 0.3;
  std::future<EndpointOr> upper = Connect(world, options);
  RawClient client(world.addresses[1]);
  ASSERT_TRUE(Greet(client, MakeGreeting(TestIdentity(0), 2, Channel::kData)).ok());
  EXPECT_THAT(Text(upper.get()),
              HasSubstr("rank 0 at " + world.addresses[0] + " (it has not connected) after 0.3 s"));
}

TEST_F(TcpMeshTest, WhoeverIsRefusedKnowsByWhomAndWhy) {
  TestWorld world(2);
  TcpEndpointOptions wrong = world.Options(0);
  wrong.identity.token = "00000000000000000000000000000000";
  TcpEndpointOptions right = world.Options(1);
  right.connect_s = 0.3;
  std::future<EndpointOr> upper = Connect(world, right);
  const EndpointOr lower = Connect(world, wrong).get();
  EXPECT_EQ(lower.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Text(lower), AllOf(HasSubstr("rank 1 at " + world.addresses[1] + " refused"),
                                 HasSubstr("wrong token")));
  EXPECT_THAT(Text(upper.get()),
              HasSubstr("rank 0 at " + world.addresses[0] + " (it has not connected) after 0.3 s"));
}

TEST_F(TcpMeshTest, MissingRanksAreAllNamed) {
  TestWorld world(4);
  world.listeners[2].reset();  // refuses connections
  TcpEndpointOptions options = world.Options(1);
  options.connect_s = 0.2;
  const EndpointOr endpoint = Connect(world, options).get();
  EXPECT_EQ(endpoint.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(endpoint),
              AllOf(HasSubstr("rank 1 has no connection with "),
                    HasSubstr("rank 2 at " + world.addresses[2] + " (Connection refused)"),
                    HasSubstr("rank 3 at " + world.addresses[3] + " (no answer)"),
                    HasSubstr("rank 0 at " + world.addresses[0] + " (it has not connected)")));
}

TEST_F(TcpMeshTest, ARankThatListensLateIsReachedAllTheSame) {
  TestWorld world(2);
  world.listeners[1].reset();
  std::future<EndpointOr> lower = Connect(world, world.Options(0));
  clock_.SleepNs(30'000'000);  // lower has been refused at least once by now
  const int port = std::stoi(world.addresses[1].substr(world.addresses[1].rfind(':') + 1));
  auto listener = TcpListener::Listen("127.0.0.1", port);
  ASSERT_TRUE(listener.ok()) << listener.status();
  world.listeners[1] = std::move(*listener);
  EXPECT_TRUE(Connect(world, world.Options(1)).get().ok());
  EXPECT_TRUE(lower.get().ok());
}

TEST_F(TcpMeshTest, SomebodyElseAtARanksAddressIsNoticed) {
  TestWorld world(2);
  std::future<EndpointOr> lower = Connect(world, world.Options(0));
  std::string from;
  UniqueFd accepted;
  while (!accepted.valid()) {
    clock_.SleepNs(1'000'000);
    accepted = AcceptConnection(world.listeners[1]->fd(), from);
  }
  const std::string line = "220 mail.example.org ready\r\n";
  ASSERT_EQ(send(accepted.get(), line.data(), line.size(), 0), static_cast<ssize_t>(line.size()));
  EXPECT_THAT(Text(lower.get()),
              AllOf(HasSubstr("rank 1 at " + world.addresses[1]), HasSubstr("no rank")));
}

TEST_F(TcpMeshTest, AnotherRankAtARanksAddressIsNoticed) {
  TestWorld world(3);
  TcpEndpointOptions mixed_up = world.Options(0);
  std::swap(mixed_up.addresses[1], mixed_up.addresses[2]);
  std::atomic<bool> over = false;
  const auto until_over = [&over] {
    return over ? absl::CancelledError("the test is over") : absl::OkStatus();
  };
  TcpEndpointOptions one = world.Options(1);
  TcpEndpointOptions two = world.Options(2);
  one.cancelled = until_over;
  two.cancelled = until_over;
  std::future<EndpointOr> first = Connect(world, one);
  std::future<EndpointOr> second = Connect(world, two);
  EXPECT_THAT(Text(Connect(world, mixed_up).get()),
              AllOf(HasSubstr("at the address of rank"), HasSubstr("answers")));
  over = true;  // rank 0 may have greeted them by then, or not
  first.wait();
  second.wait();
}

TEST_F(TcpMeshTest, CancellingEndsTheWait) {
  TestWorld world(2);
  TcpEndpointOptions options = world.Options(0);
  int asked = 0;
  options.cancelled = [&asked] {
    return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("the run was aborted");
  };
  EXPECT_EQ(Connect(world, options).get().status(), absl::CancelledError("the run was aborted"));
  EXPECT_EQ(asked, 3);
}

TEST_F(TcpMeshTest, OptionsThatCannotWorkAreRefused) {
  TestWorld world(2);
  TcpEndpointOptions options = world.Options(0);
  options.identity.rank = 2;
  const auto attempt = [&] {
    return Text(ConnectTcp(std::move(*TcpListener::Listen("127.0.0.1", 0)), options, clock_));
  };
  EXPECT_EQ(attempt(), "rank 2 of 2 addresses: expected 0 to 1");
  options = world.Options(0);
  options.identity.token = std::string(257, 'x');
  EXPECT_EQ(attempt(), "the token is 257 characters long; at most 256 are allowed");
  options = world.Options(0);
  options.handshake_s = 0;
  EXPECT_EQ(attempt(), "connect_s and handshake_s must be positive");
}

TEST(TcpListenerTest, HoldsThePortThatItNames) {
  const auto listener = TcpListener::Listen("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string& address = (*listener)->address();
  ASSERT_EQ(address.rfind("127.0.0.1:", 0), 0u) << address;
  const std::string port = address.substr(10);
  EXPECT_NE(port, "0");
  const auto second = TcpListener::Listen("127.0.0.1", std::stoi(port));
  EXPECT_EQ(second.status().message(), "port " + port +
                                           " of 127.0.0.1 is taken by another process: name "
                                           "another one, or 0 to choose a free one");
}

TEST(TcpListenerTest, AForeignAddressIsRefused) {
  const auto listener = TcpListener::Listen("192.0.2.1", 0);
  EXPECT_EQ(listener.status().message(), "192.0.2.1 is no address of this host");
}

}  // namespace
}  // namespace crossover::net
