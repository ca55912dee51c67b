// For tests of what runs over TCP: ranks connected over loopback, and a bare
// socket that says whatever a test likes. Thread-safe: stateless.
#ifndef CROSSOVER_NET_TCP_TEST_SUPPORT_H_
#define CROSSOVER_NET_TCP_TEST_SUPPORT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "net/endpoint.h"
#include "net/identity.h"
#include "net/socket.h"
#include "net/tcp_endpoint.h"

namespace crossover::net {

// A rank of the one job that these tests know.
Identity TestIdentity(int rank);

// A listener for each rank, and options that fit them.
struct TestWorld {
  explicit TestWorld(int world_size);
  TcpEndpointOptions Options(int rank) const;
  std::vector<std::unique_ptr<TcpListener>> listeners;
  std::vector<std::string> addresses;
};

// All ranks connected, each from a thread of its own. Failure ends the process.
std::vector<std::unique_ptr<Endpoint>> MakeTcpEndpoints(int world_size, const Clock& clock,
                                                        bool splice = true);

// A client without manners. Blocks for at most some seconds in each call; failure ends
// the process.
class RawClient {
 public:
  explicit RawClient(const std::string& address);
  void Send(std::span<const std::byte> bytes);
  void Send(std::string_view text) { Send(std::as_bytes(std::span(text))); }
  // The next `size` bytes, or fewer if the other side closes before.
  std::vector<std::byte> Read(size_t size);
  // Everything until the other side closes.
  std::string ReadToEnd();
  void Close() { fd_.Reset(); }
  // Breaks the connection at once, whatever is under way.
  void CloseWithReset();

 private:
  void Wait(short events);
  UniqueFd fd_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TCP_TEST_SUPPORT_H_
