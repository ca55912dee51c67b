#include "lab/probe_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/status.h"
#include "lab/namespaces.h"

namespace crossover::lab {
namespace {

constexpr int kTimeoutMs = 10'000;

absl::Status Failed(const Node& from, const Node& to, const char* what, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("network lab: ", from.name, " (", from.address,
                                                 ") to ", to.name, " (", to.address, "): ", what));
}

absl::Status Await(int fd, short events, const Node& from, const Node& to, const char* what) {
  pollfd wait = {.fd = fd, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, kTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return absl::OkStatus();
  return Failed(from, to, what, ready == 0 ? ETIMEDOUT : errno);
}

absl::StatusOr<os::UniqueFd> SocketIn(const Node& node) {
  ASSIGN_OR_RETURN(const ScopedNamespace inside, ScopedNamespace::Enter(node.network_namespace));
  os::UniqueFd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return Failed(node, node, "cannot make a socket", errno);
  const int on = 1;
  setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

absl::Status Send(int from_fd, int to_fd, const Node& from, const Node& to) {
  std::array<char, 64> message = {};
  if (send(from_fd, message.data(), message.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(message.size())) {
    return Failed(from, to, "cannot send", errno);
  }
  for (size_t received = 0; received < message.size();) {
    RETURN_IF_ERROR(Await(to_fd, POLLIN, from, to, "nothing arrives"));
    const ssize_t bytes = recv(to_fd, message.data(), message.size() - received, 0);
    if (bytes <= 0) return Failed(from, to, "cannot receive", bytes == 0 ? ECONNRESET : errno);
    received += static_cast<size_t>(bytes);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Connection> Connect(const Node& from, const Node& to) {
  Connection connection;
  ASSIGN_OR_RETURN(const os::UniqueFd listener, SocketIn(to));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, to.address.c_str(), &address.sin_addr);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof address;
  if (bind(listener.get(), generic, bytes) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), generic, &bytes) != 0) {
    return Failed(from, to, "cannot listen", errno);
  }
  ASSIGN_OR_RETURN(connection.from, SocketIn(from));
  if (connect(connection.from.get(), generic, bytes) != 0 && errno != EINPROGRESS) {
    return Failed(from, to, "cannot connect", errno);
  }
  RETURN_IF_ERROR(Await(connection.from.get(), POLLOUT, from, to, "cannot connect"));
  RETURN_IF_ERROR(Await(listener.get(), POLLIN, from, to, "no connection arrives"));
  connection.to =
      os::UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.to.valid()) return Failed(from, to, "cannot accept", errno);
  const int on = 1;
  setsockopt(connection.to.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // What is still unsent at the end is thrown away: it must not run on under the next user.
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(connection.from.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return connection;
}

int64_t RetransmittedSegments(const os::UniqueFd& socket) {
  tcp_info info = {};
  socklen_t bytes = sizeof info;
  if (getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return 0;
  return info.tcpi_total_retrans;
}

absl::StatusOr<double> RoundTripUs(const Connection& connection, const Node& from, const Node& to) {
  const SystemClock clock;
  const int64_t begin_ns = clock.NowNs();
  RETURN_IF_ERROR(Send(connection.from.get(), connection.to.get(), from, to));
  RETURN_IF_ERROR(Send(connection.to.get(), connection.from.get(), to, from));
  return static_cast<double>(clock.NowNs() - begin_ns) / 1e3;
}

}  // namespace crossover::lab
