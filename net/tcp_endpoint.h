// Endpoint over TCP: for each pair of ranks one connection for the data and one for control
// messages (net/control_message.h). A listener first (its address is published through the
// rendezvous), then the connections: the lower rank of a pair connects, both sides prove the
// job's token and fingerprint and say their ranks; strangers get one line and are dropped, and
// harm nothing.
//
// How a rank ends is told on its control connections: destroying the endpoint says goodbye
// there, a failure says the last words. A rank that has said goodbye is missed by nobody but
// those who still want its bytes; a control connection that ends without either is a loss, and
// fails whoever waits for whatever. Destroying loses nothing that was sent: it waits until the
// peers' machines have it, at most for half a second, and leaves the rest to the kernel.
#ifndef CROSSOVER_NET_TCP_ENDPOINT_H_
#define CROSSOVER_NET_TCP_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/identity.h"
#include "net/socket.h"

namespace crossover::net {

// Holds a bound, listening socket. Thread-safe: immutable.
class TcpListener {
 public:
  // `host` is an address of this host; port 0 chooses one. A taken port is an error that names
  // it. `congestion_control` ("cubic"; "": the host's) is that of all connections that an endpoint
  // makes of this (net/socket.h); one that this host does not allow is an error too.
  static absl::StatusOr<std::unique_ptr<TcpListener>> Listen(
      const std::string& host, int port, const std::string& congestion_control = "");
  const std::string& address() const { return address_; }  // host:port as bound
  const std::string& congestion_control() const { return congestion_control_; }
  int fd() const { return fd_.get(); }

 private:
  TcpListener(UniqueFd fd, std::string address, std::string congestion_control)
      : fd_(std::move(fd)),
        address_(std::move(address)),
        congestion_control_(std::move(congestion_control)) {}
  UniqueFd fd_;
  std::string address_;
  std::string congestion_control_;
};

struct TcpEndpointOptions {
  Identity identity;                   // rank is this process's
  std::vector<std::string> addresses;  // every rank's listener, by rank
  double connect_s = 60;               // for all connections
  double handshake_s = 5;              // for whoever connects to say who it is
  // Whether SendMode::kBorrow borrows (net/splice_sender.h); equal on all ranks.
  bool splice = true;
  // Asked several times a second while connecting; an error ends it with that status
  // (the run was aborted). May be empty.
  std::function<absl::Status()> cancelled;
};
// Connects to every peer; blocks, at most for connect_s. The listener is closed when
// all are connected. Errors: a rank that cannot be reached or does not come (all are
// named), that refuses us, that has another token, job or world size, or is lost
// meanwhile. `clock` must outlive the
// endpoint and follow real time (socket waits do). With `splice` the process ignores SIGPIPE
// from then on, unless it handles it.
//
// TrySend and TryReceive of the endpoint are one system call each (two where they borrow).
// Where one finds the peer's connection lost, it looks for the peer's last words for at most
// a fifth of a second.
absl::StatusOr<std::unique_ptr<Endpoint>> ConnectTcp(std::unique_ptr<TcpListener> listener,
                                                     const TcpEndpointOptions& options,
                                                     const Clock& clock);

// For tests: cuts all connections of an endpoint that ConnectTcp made without a word, as the
// death of its process would. Of the endpoint's thread.
void CutTcpConnections(Endpoint& endpoint);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TCP_ENDPOINT_H_
