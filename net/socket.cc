#include "net/socket.h"

#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "net/address.h"

namespace crossover::net {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<AddressList> Resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("the host '", host, "' cannot be found: ", gai_strerror(error)));
  }
  return AddressList(found, &freeaddrinfo);
}

std::string FormatAddress(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host), port,
                  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return FormatHostPort({host, std::atoi(port)});
}

// "reno cubic"; "" if the kernel does not say.
std::string KernelSetting(const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/sys/net/ipv4/", name));
  std::string line;
  std::getline(file, line);
  return line;
}

absl::Status SetCongestionControl(int fd, const std::string& name) {
  if (name.empty() || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                                 static_cast<socklen_t>(name.size())) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  return absl::InvalidArgumentError(absl::StrCat(
      "the congestion control '", name, "' cannot be used here (", ErrnoText(error),
      "): this host has ", KernelSetting("tcp_available_congestion_control"), ", and allows ",
      KernelSetting("tcp_allowed_congestion_control"), " to whoever is not root"));
}

absl::StatusOr<UniqueFd> MakeSocket(int family, const std::string& congestion_control) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return absl::InternalError(absl::StrCat("no socket: ", ErrnoText(errno)));
  RETURN_IF_ERROR(SetCongestionControl(fd.get(), congestion_control));
  return fd;
}

}  // namespace

std::string ErrnoText(int error) {
  const char* text = strerrordesc_np(error);
  return text != nullptr ? text : absl::StrCat("error ", error);
}

absl::StatusOr<UniqueFd> ListenOn(const std::string& host, int port,
                                  const std::string& congestion_control) {
  const std::string name = FormatHostPort({host, port});
  ASSIGN_OR_RETURN(const AddressList addresses, Resolve(host, port));
  ASSIGN_OR_RETURN(UniqueFd fd, MakeSocket(addresses->ai_family, congestion_control));
  // A port in TIME_WAIT may be used again; one that somebody listens on may not.
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      return absl::AlreadyExistsError(absl::StrCat(
          "port ", port, " of ", host,
          " is taken by another process: name another one, or 0 to choose a free one"));
    }
    if (error == EADDRNOTAVAIL) {
      return absl::InvalidArgumentError(absl::StrCat(host, " is no address of this host"));
    }
    return absl::UnavailableError(absl::StrCat("cannot listen on ", name, ": ", ErrnoText(error)));
  }
  return fd;
}

absl::StatusOr<UniqueFd> StartConnection(const std::string& address,
                                         const std::string& congestion_control) {
  ASSIGN_OR_RETURN(const HostPort target, ParseHostPort(address));
  ASSIGN_OR_RETURN(const AddressList addresses, Resolve(target.host, target.port));
  ASSIGN_OR_RETURN(UniqueFd fd, MakeSocket(addresses->ai_family, congestion_control));
  if (connect(fd.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 && errno != EINPROGRESS) {
    return absl::UnavailableError(ErrnoText(errno));
  }
  return fd;
}

int ConnectionError(int fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

UniqueFd AcceptConnection(int listener_fd, std::string& from) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  UniqueFd fd(accept4(listener_fd, reinterpret_cast<sockaddr*>(&address), &size,
                      SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.valid()) from = FormatAddress(address, size);
  return fd;
}

std::string OwnAddress(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return FormatAddress(address, size);
}

void SetNoDelay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // The handshake, of one message each way, has led the kernel to expect an answer to each.
  setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

int UndeliveredBytes(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool DiscardInput(int fd) {
  constexpr int kReadsMax = 64;
  std::array<std::byte, 16384> unwanted;
  for (int i = 0; i < kReadsMax; ++i) {
    const ssize_t n = recv(fd, unwanted.data(), unwanted.size(), 0);
    if (n < 0 && errno == EAGAIN) return true;
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
  }
  return true;
}

int PollTimeoutMs(int64_t duration_ns) {
  if (duration_ns <= 0) return 0;
  const int64_t ms = (duration_ns + 999'999) / 1'000'000;
  return static_cast<int>(std::min<int64_t>(ms, std::numeric_limits<int>::max()));
}

}  // namespace crossover::net
