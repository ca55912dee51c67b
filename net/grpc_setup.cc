#include "net/grpc_setup.h"

#include <grpc/support/log.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "core/status.h"
#include "net/address.h"
#include "net/one_line.h"
#include "net/tls_pem.h"
#include "net/unix_socket.h"
#include "os/environment.h"

namespace crossover::net {
namespace {

constexpr char kTokenKey[] = "crossover-token";
constexpr char kJobKey[] = "crossover-job";
constexpr char kRoleKey[] = "crossover-role";
constexpr char kRankKey[] = "crossover-rank";

constexpr int kNoLimit = -1;
constexpr int kReconnectFirstMs = 100;
constexpr int kReconnectMaxMs = 1000;
constexpr int kConnectTimeoutMs = 5000;  // of one attempt
// A host that vanished without closing its connections. The rendezvous's heartbeats
// notice it sooner; this ends the calls that nobody else would end.
constexpr int kKeepaliveTimeMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
constexpr int kMinPingIntervalMs = 10'000;

// For parts of 64 KiB and more at the rate of a link: fewer and larger reads, frames and writes.
// The window stays the one that gRPC probes (bandwidth x delay).
constexpr int kFrameBytesMax = 1 << 20;
constexpr int kLookaheadBytes = 4 << 20;
constexpr int kReadBytes = 256 << 10;
constexpr int kReadBytesMax = 4 << 20;
constexpr int kWriteBufferBytes = 1 << 20;

// `set` takes the name and the value of a channel's argument.
template <typename Set>
void SetTransportArguments(const Set& set) {
  set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytesMax);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  set(GRPC_ARG_HTTP2_BDP_PROBE, 1);
  set(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  set(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, kReadBytes);
  set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytesMax);
  set(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteBufferBytes);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
}

// Empty where the key is absent or comes more than once.
absl::string_view MetadataValue(const grpc::ServerContextBase& context, const char* key) {
  const auto [first, last] = context.client_metadata().equal_range(key);
  if (first == last || std::next(first) != last) return {};
  return {first->second.data(), first->second.size()};
}

// Binds and lets go, as the server is about to bind: OK, or why it cannot.
absl::Status ProbeSocket(const addrinfo& target, const std::string& address) {
  const int fd = socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open a socket for ", address, ": ", std::strerror(errno)));
  }
  // As gRPC does: a port whose last connections still linger is free, one on
  // which somebody listens is not.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int error = bind(fd, target.ai_addr, target.ai_addrlen) == 0 ? 0 : errno;
  close(fd);
  switch (error) {
    case 0:
      return absl::OkStatus();
    case EADDRINUSE:
      return absl::AlreadyExistsError(absl::StrCat(
          "address ", address, " is taken by another process (", std::strerror(error),
          "): stop it, or ask for another port, or for port 0 to have a free one chosen"));
    case EADDRNOTAVAIL:
      return absl::InvalidArgumentError(absl::StrCat(
          "address ", address, " does not belong to this host (", std::strerror(error), ")"));
    default:
      return absl::FailedPreconditionError(
          absl::StrCat("cannot bind ", address, ": ", std::strerror(error)));
  }
}

// gRPC says only that it could not bind, and on stderr. A name may stand for
// several addresses, of which gRPC binds those it can: one that is taken is an
// error all the same, one that this host lacks only if it lacks them all.
absl::Status ProbeAddress(const HostPort& host_port, const std::string& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int error =
      getaddrinfo(host_port.host.c_str(), absl::StrCat(host_port.port).c_str(), &hints, &first);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("address ", address, " cannot be resolved: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(first, freeaddrinfo);
  absl::Status status;
  bool bound = false;
  for (const addrinfo* i = first; i != nullptr; i = i->ai_next) {
    absl::Status probed = ProbeSocket(*i, address);
    if (absl::IsAlreadyExists(probed)) return probed;
    bound = bound || probed.ok();
    status.Update(probed);
  }
  return bound ? absl::OkStatus() : status;
}

// gRPC takes from each text the parts that it wants.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const std::string& pem,
                                                               grpc::ChannelArguments& arguments) {
  if (pem.empty()) return grpc::InsecureChannelCredentials();
  arguments.SetSslTargetNameOverride(kTlsName);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pem;
  options.pem_private_key = pem;
  options.pem_cert_chain = pem;
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(const std::string& pem) {
  if (pem.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pem;
  options.pem_key_cert_pairs.push_back({pem, pem});
  return grpc::SslServerCredentials(options);
}

}  // namespace

void PrepareGrpc() {
  gpr_set_log_function([](gpr_log_func_args*) {});
  // A completion queue has one thread here and few connections. With epoll gRPC wakes one thread
  // for what another then does, which took half as long again for a push and pull.
  os::SetUnlessSet("GRPC_POLL_STRATEGY", "poll");
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const std::string& tls_pem) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kNoLimit);
  arguments.SetMaxSendMessageSize(kNoLimit);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Peers are reached directly, whatever http_proxy says.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
  // A misnomer: in truth it bounds one attempt.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMaxMs);
  SetTransportArguments([&](const char* name, int value) { arguments.SetInt(name, value); });
  const auto credentials = ChannelCredentialsOf(tls_pem, arguments);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

void SetCallIdentity(const Identity& identity, grpc::ClientContext& context) {
  context.AddMetadata(kTokenKey, identity.token);
  context.AddMetadata(kJobKey, absl::StrFormat("%016x", identity.job_fingerprint));
  context.AddMetadata(kRoleKey, RoleName(identity.role));
  context.AddMetadata(kRankKey, absl::StrCat(identity.rank));
}

absl::StatusOr<Identity> CallerIdentity(const Identity& ours,
                                        const grpc::ServerContextBase& context) {
  Identity caller;
  const std::string peer = PeerAddress(context);
  const std::optional<ClaimedProcess> claimed = ClaimedBy(context);
  const std::string who =
      absl::StrCat(claimed ? ProcessName(claimed->role, claimed->rank) : "a caller", " at ", peer);

  // A missing token is a wrong one, and a missing fingerprint another job's.
  const absl::string_view token = MetadataValue(context, kTokenKey);
  const bool job_known =
      absl::SimpleHexAtoi(MetadataValue(context, kJobKey), &caller.job_fingerprint);
  if (!job_known) caller.job_fingerprint = ~ours.job_fingerprint;
  RETURN_IF_ERROR(
      CheckCaller(ours, caller.job_fingerprint, std::string_view(token.data(), token.size()), who));
  if (!claimed) {
    return absl::InvalidArgumentError(
        absl::StrCat(who, " does not say which role and rank it has"));
  }
  caller.token = ours.token;
  caller.role = claimed->role;
  caller.rank = claimed->rank;
  return caller;
}

std::optional<ClaimedProcess> ClaimedBy(const grpc::ServerContextBase& context) {
  ClaimedProcess claimed;
  const absl::string_view role = MetadataValue(context, kRoleKey);
  if (role == RoleName(Role::kServer)) {
    claimed.role = Role::kServer;
  } else if (role != RoleName(Role::kWorker)) {
    return std::nullopt;
  }
  if (!absl::SimpleAtoi(MetadataValue(context, kRankKey), &claimed.rank) || claimed.rank < 0) {
    return std::nullopt;
  }
  return claimed;
}

std::string PeerAddress(const grpc::ServerContextBase& context) {
  return PlainPeerAddress(context.peer());
}

std::string PlainPeerAddress(const std::string& grpc_peer) {
  absl::string_view text = grpc_peer;
  if (absl::StartsWith(text, "unix")) return "a Unix socket";
  for (const absl::string_view scheme : {"ipv4:", "ipv6:"}) {
    if (text.substr(0, scheme.size()) == scheme) text.remove_prefix(scheme.size());
  }
  return absl::StrReplaceAll(text, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
}

absl::StatusOr<RunningServer> StartServer(
    const Listening& listening, const std::function<void(grpc::ServerBuilder&)>& add_services) {
  const std::string& address = listening.address;
  ASSIGN_OR_RETURN(HostPort host_port, ParseHostPort(address));
  RETURN_IF_ERROR(ProbeAddress(host_port, address));

  RunningServer running;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kNoLimit);
  builder.SetMaxSendMessageSize(kNoLimit);
  // gRPC's default lets a stale server share the port in silence.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  SetTransportArguments(
      [&](const char* name, int value) { builder.AddChannelArgument(name, value); });
  // Else our own channels' keep-alive counts as abuse.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  const auto credentials = ServerCredentialsOf(listening.tls_pem);
  builder.AddListeningPort(address, credentials, &running.port);
  if (!listening.unix_socket.empty()) {
    builder.AddListeningPort(UnixSocketUri(listening.unix_socket), credentials);
  }
  add_services(builder);
  running.server = builder.BuildAndStart();
  if (running.server == nullptr || running.port == 0) {
    // Whoever took the port since the probe is seen by a second one.
    RETURN_IF_ERROR(ProbeAddress(host_port, address));
    return absl::UnavailableError(absl::StrCat("gRPC could not start a server on ", address));
  }
  host_port.port = running.port;
  running.address = FormatHostPort(host_port);
  return running;
}

gpr_timespec TimeoutFromNow(double seconds) {
  // gRPC adds a span to its own clock's now.
  constexpr double kMaxSeconds = 1e9;
  const double bounded = std::clamp(seconds, 0.0, kMaxSeconds);
  return gpr_time_from_millis(static_cast<int64_t>(bounded * 1e3), GPR_TIMESPAN);
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      OneLine(status.error_message()));
}

}  // namespace crossover::net
