// The one place where gRPC channels and servers are configured: message limits,
// no shared ports, keep-alive, TLS, and the job's identity on every call. Thread-safe.
#ifndef CROSSOVER_NET_GRPC_SETUP_H_
#define CROSSOVER_NET_GRPC_SETUP_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "net/identity.h"

namespace crossover::net {

// How gRPC waits, and silence: its own lines on standard error are for its developers; what matters
// reaches us as a status. Call it once, in main, before any thread is started.
void PrepareGrpc();

// A channel of its own (no sharing of connections between channels), reconnecting
// until used up by a deadline. Does not block.
// `tls_pem`: as in Identity.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const std::string& tls_pem);

// Puts identity into a call's metadata, before the call starts. The token must be
// printable ASCII, as MakeToken and ReadTokenFile give it.
void SetCallIdentity(const Identity& identity, grpc::ClientContext& context);

struct ClaimedProcess {
  Role role = Role::kWorker;
  int rank = 0;  // not negative
};

// Who called, and whether he may: token and fingerprint must be ours. `context` is
// the server's view of the call (callback or async). The rank is not negative;
// whether it exists and is free is the caller's to check.
absl::StatusOr<Identity> CallerIdentity(const Identity& ours,
                                        const grpc::ServerContextBase& context);
// The role and rank that a caller gives itself, whoever it is; nothing if it gives none.
std::optional<ClaimedProcess> ClaimedBy(const grpc::ServerContextBase& context);

// Where a call comes from, "10.0.0.2:40312", from gRPC's own form of it.
std::string PeerAddress(const grpc::ServerContextBase& context);
std::string PlainPeerAddress(const std::string& grpc_peer);

struct RunningServer {
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  std::string address;  // as given, with the port that was bound
};
// Where and how a server listens.
struct Listening {
  std::string address;
  std::string tls_pem = {};      // as in Identity
  std::string unix_socket = {};  // the name of an abstract one (net/unix_socket.h) beside it, or ""
};
// Binds the address ("127.0.0.1:0": the port is chosen, held and returned), calls
// `add_services` on the builder and starts. Services must outlive the server. A
// taken port or an address that is not this host's is an error that names it.
// Resolves a host name, which may block.
absl::StatusOr<RunningServer> StartServer(
    const Listening& listening, const std::function<void(grpc::ServerBuilder&)>& add_services);

// A time-out, from now, as gRPC takes it where it asks for a deadline.
gpr_timespec TimeoutFromNow(double seconds);

// Between the two libraries' status codes, which have the same numbers.
grpc::Status ToGrpc(const absl::Status& status);
// The text is a peer's: made one line of bounded length (net/one_line.h).
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_GRPC_SETUP_H_
