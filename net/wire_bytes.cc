#include "net/wire_bytes.h"

#include <dirent.h>
#include <linux/tcp.h>  // not netinet/tcp.h: its tcp_info ends before the byte counters
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <fstream>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace crossover::net {
namespace {

// Whatever is not a TCP socket, or was closed meanwhile, counts nothing.
WireBytes CountSocket(int fd) {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0) return {};
  if (protocol != IPPROTO_TCP) return {};

  tcp_info info = {};
  length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  WireBytes bytes;
  bytes.received = static_cast<int64_t>(info.tcpi_bytes_received);
  // Kernels before 4.19 count only what was acknowledged.
  const bool has_sent = length >= offsetof(tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent;
  bytes.sent = static_cast<int64_t>(has_sent ? info.tcpi_bytes_sent : info.tcpi_bytes_acked);
  return bytes;
}

}  // namespace

WireBytes CountWireBytes() {
  WireBytes total;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
  if (directory == nullptr) return total;
  while (const dirent* entry = readdir(directory.get())) {
    int fd = 0;
    if (!absl::SimpleAtoi(absl::string_view(entry->d_name), &fd)) continue;  // "." and ".."
    const WireBytes bytes = CountSocket(fd);
    total.sent += bytes.sent;
    total.received += bytes.received;
  }
  return total;
}

std::string DefaultCongestionControl() {
  std::ifstream file("/proc/sys/net/ipv4/tcp_congestion_control");
  std::string name;
  return file >> name ? name : "unknown";
}

}  // namespace crossover::net
