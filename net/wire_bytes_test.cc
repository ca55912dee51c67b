#include "net/wire_bytes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace crossover::net {
namespace {

// Both ends of a TCP connection over loopback.
class WireBytesTest : public testing::Test {
 protected:
  void SetUp() override {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
    client_ = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(client_, reinterpret_cast<sockaddr*>(&address), length), 0);
    server_ = accept(listener, nullptr, nullptr);
    ASSERT_GE(server_, 0);
    close(listener);
  }
  void TearDown() override {
    close(client_);
    close(server_);
  }
  // Sends and receives, so that the kernel has counted the bytes on both ends.
  void Move(int from, int to, size_t bytes) {
    std::vector<char> buffer(bytes);
    size_t sent = 0;
    size_t received = 0;
    while (received < bytes) {
      if (sent < bytes) {
        const ssize_t n = send(from, buffer.data() + sent, bytes - sent, MSG_DONTWAIT);
        if (n > 0) sent += static_cast<size_t>(n);
      }
      const ssize_t n = recv(to, buffer.data(), buffer.size(), MSG_DONTWAIT);
      ASSERT_NE(n, 0);
      if (n > 0) received += static_cast<size_t>(n);
    }
  }
  int client_ = -1;
  int server_ = -1;
};

TEST_F(WireBytesTest, CountsBothEndsOfAConnection) {
  const WireBytes before = CountWireBytes();
  Move(client_, server_, 300'000);
  Move(server_, client_, 1'000);
  const WireBytes after = CountWireBytes();
  // Both ends are in this process. Loopback may send again what it was slow to acknowledge.
  EXPECT_EQ(after.received - before.received, 301'000);
  EXPECT_GE(after.sent - before.sent, 301'000);
  EXPECT_LT(after.sent - before.sent, 2 * 301'000);
}

TEST_F(WireBytesTest, NothingSentIsNothingCounted) {
  const WireBytes before = CountWireBytes();
  const WireBytes after = CountWireBytes();
  EXPECT_EQ(after.sent, before.sent);
  EXPECT_EQ(after.received, before.received);
}

TEST_F(WireBytesTest, IgnoresWhatIsNotTcp) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const WireBytes before = CountWireBytes();
  Move(pair[0], pair[1], 5'000);
  const WireBytes after = CountWireBytes();
  EXPECT_EQ(after.sent, before.sent);
  EXPECT_EQ(after.received, before.received);
  close(pair[0]);
  close(pair[1]);
}

TEST(CongestionControlTest, HasAName) {
  const std::string name = DefaultCongestionControl();
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(name.find_first_of(" \n"), std::string::npos);
}

}  // namespace
}  // namespace crossover::net
