// Endpoint over TCP, one connection a pair of ranks. A listener first (its address
// is published through the rendezvous), then the connections: the lower rank of a
// pair connects, both sides prove the job's token and fingerprint and say their
// ranks; strangers get one line and are dropped, and harm nothing.
#ifndef CROSSOVER_NET_TCP_ENDPOINT_H_
#define CROSSOVER_NET_TCP_ENDPOINT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/identity.h"

namespace crossover::net {

// Holds a bound, listening socket.
class TcpListener {
 public:
  // `host` is an address of this host; port 0 chooses one. A taken port is an
  // error that names it.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(const std::string& host, int port);
  ~TcpListener();
  std::string address() const;  // host:port as bound
  int fd() const { return fd_; }

 private:
  TcpListener(int fd, std::string address) : fd_(fd), address_(std::move(address)) {}
  int fd_;
  std::string address_;
};

struct TcpEndpointOptions {
  Identity identity;  // rank is this process's
  std::vector<std::string> addresses;  // every rank's listener, by rank
  double connect_s = 60;   // for all connections
  double silence_s = 10;   // without progress in an Exchange
};
// Connects to every peer; blocks. `clock` must outlive the endpoint.
absl::StatusOr<std::unique_ptr<Endpoint>> ConnectTcp(std::unique_ptr<TcpListener> listener,
                                                     const TcpEndpointOptions& options,
                                                     const Clock& clock);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TCP_ENDPOINT_H_
