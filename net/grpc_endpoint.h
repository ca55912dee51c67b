// Endpoint over gRPC: for each pair of ranks one long-lived call with raw messages both ways
// (net/grpc_link.h), the lower rank calls. It is slower than TCP (net/tcp_endpoint.h): it exists
// for what gRPC can do and a socket cannot, and to compare like with like. A listener first (its
// address is published through the rendezvous), then the connections; token and fingerprint are
// checked in a call's metadata, ranks and the number of ranks in each side's first message.
//
// Bytes are copied once on each side, between the caller's buffer and gRPC's slices, whatever the
// SendMode; at most kGrpcWindowBytes a peer and direction are under way, in the memory of
// both processes together. gRPC's threads write and read on whatever the caller does; the caller's
// own thread never blocks but in Wait, on a condition variable that they signal. So who waits
// should Wait rather than look again and again, which keeps those threads from the cores.
//
// How a rank ends is told in the same stream. A rank that has said goodbye is missed by nobody but
// those who still want its bytes; a stream that ends without last words or a goodbye is a loss, and
// fails whoever waits for whatever. A host that vanishes without closing anything is noticed by
// gRPC's keep-alive, after the better part of a minute. Destroying loses nothing that was sent: it
// waits until the peers' processes have it, whether or not their callers read, at most for five
// seconds (a process stands still, or its host is cut off); what has not arrived then is lost.
#ifndef CROSSOVER_NET_GRPC_ENDPOINT_H_
#define CROSSOVER_NET_GRPC_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/identity.h"

namespace crossover::net {

class GrpcHub;  // net/grpc_mesh.h

struct GrpcEndpointOptions {
  Identity identity;                   // rank is this process's
  std::vector<std::string> addresses;  // every rank's listener, by rank
  double connect_s = 60;               // for all connections
  // Asked several times a second while connecting; an error ends it with that status
  // (the run was aborted). May be empty.
  std::function<absl::Status()> cancelled;
};

// A gRPC server that accepts nobody yet; who calls it tries again by itself.
class GrpcListener {
 public:
  // `host` is an address of this host; port 0 chooses one. A taken port is an error that names it.
  // `tls_pem`: as in Identity.
  static absl::StatusOr<std::unique_ptr<GrpcListener>> Listen(const std::string& host, int port,
                                                              const std::string& tls_pem);
  ~GrpcListener();
  const std::string& address() const;  // host:port as bound

 private:
  friend absl::StatusOr<std::unique_ptr<Endpoint>> ConnectGrpc(
      std::unique_ptr<GrpcListener> listener, const GrpcEndpointOptions& options,
      const Clock& clock);
  explicit GrpcListener(std::unique_ptr<GrpcHub> hub);
  std::unique_ptr<GrpcHub> hub_;
};

// Connects to every peer; blocks, at most for connect_s. The listener becomes a part of the
// endpoint, and refuses further callers. Errors: a rank that cannot be reached or does not come
// (all are named), that refuses us, that has another token, job or world size, or is lost
// meanwhile. `clock` must outlive the endpoint and follow real time.
absl::StatusOr<std::unique_ptr<Endpoint>> ConnectGrpc(std::unique_ptr<GrpcListener> listener,
                                                      const GrpcEndpointOptions& options,
                                                      const Clock& clock);

// For tests: cuts all connections of an endpoint that ConnectGrpc made without a word, as the
// death of its process would. Of the endpoint's thread.
void CutGrpcConnections(Endpoint& endpoint);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_GRPC_ENDPOINT_H_
