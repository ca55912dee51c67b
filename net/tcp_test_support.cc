#include "net/tcp_test_support.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "core/check.h"

namespace crossover::net {
namespace {

constexpr int kPatienceMs = 20'000;

}  // namespace

Identity TestIdentity(int rank) {
  return {.job_fingerprint = 42,
          .token = "0123456789abcdef0123456789abcdef",
          .role = Role::kWorker,
          .rank = rank};
}

TestWorld::TestWorld(int world_size) {
  for (int rank = 0; rank < world_size; ++rank) {
    auto listener = TcpListener::Listen("127.0.0.1", 0);
    CROSSOVER_CHECK(listener.ok(), "loopback has a free port");
    addresses.push_back((*listener)->address());
    listeners.push_back(std::move(*listener));
  }
}

TcpEndpointOptions TestWorld::Options(int rank) const {
  TcpEndpointOptions options;
  options.identity = TestIdentity(rank);
  options.addresses = addresses;
  options.connect_s = 30;
  options.handshake_s = 30;
  return options;
}

std::vector<std::unique_ptr<Endpoint>> MakeTcpEndpoints(int world_size, const Clock& clock,
                                                        bool splice) {
  TestWorld world(world_size);
  std::vector<std::unique_ptr<Endpoint>> endpoints(world_size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      TcpEndpointOptions options = world.Options(rank);
      options.splice = splice;
      auto endpoint = ConnectTcp(std::move(world.listeners[rank]), options, clock);
      CROSSOVER_CHECK(endpoint.ok(), "ranks on loopback find each other");
      endpoints[rank] = std::move(*endpoint);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return endpoints;
}

RawClient::RawClient(const std::string& address) {
  auto fd = StartConnection(address);
  CROSSOVER_CHECK(fd.ok(), "loopback can be reached");
  fd_ = std::move(*fd);
  Wait(POLLOUT);
  CROSSOVER_CHECK(ConnectionError(fd_.get()) == 0, "somebody listens");
}

void RawClient::Wait(short events) {
  pollfd fd{fd_.get(), events, 0};
  CROSSOVER_CHECK(poll(&fd, 1, kPatienceMs) == 1, "the other side answers in time");
}

void RawClient::Send(std::span<const std::byte> bytes) {
  const ssize_t n = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  CROSSOVER_CHECK(n == static_cast<ssize_t>(bytes.size()), "a little fits into a send buffer");
}

std::vector<std::byte> RawClient::Read(size_t size) {
  std::vector<std::byte> bytes(size);
  size_t received = 0;
  while (received < size) {
    Wait(POLLIN);
    const ssize_t n = recv(fd_.get(), bytes.data() + received, size - received, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) break;
    if (n > 0) received += static_cast<size_t>(n);
  }
  bytes.resize(received);
  return bytes;
}

void RawClient::CloseWithReset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  fd_.Reset();
}

std::string RawClient::ReadToEnd() {
  constexpr size_t kMoreThanAnyAnswer = 1 << 16;
  const std::vector<std::byte> bytes = Read(kMoreThanAnyAnswer);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace crossover::net
