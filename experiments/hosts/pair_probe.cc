#include "experiments/hosts/pair_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "experiments/hosts/quiet_thread.h"
#include "net/identity.h"

namespace crossover::experiments {
namespace {

constexpr char kEcho = 'e';  // every byte comes back
constexpr char kSink = 's';  // bytes are counted; the count comes back at the end
constexpr size_t kPingBytes = 64;
constexpr int kPings = 30;
constexpr int kConnectMs = 5000;
constexpr int kSilenceMs = 5000;
constexpr size_t kConnectionsMax = 64;
constexpr size_t kBlockBytes = 1 << 17;

// What the server counted in the host's byte order: both ends are builds of one machine type.
struct SinkCount {
  int64_t bytes;
  int64_t duration_ns;
};

bool WaitFor(int fd, short events, int timeout_ms) {
  pollfd waiting = {.fd = fd, .events = events, .revents = 0};
  return poll(&waiting, 1, timeout_ms) > 0;
}

// Bytes received, 0 at the end of the stream, -1 after an error or a silence.
ssize_t Receive(int fd, char* data, size_t size) {
  if (!WaitFor(fd, POLLIN, kSilenceMs)) return -1;
  return recv(fd, data, size, 0);
}

bool ReceiveAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = Receive(fd, data, size);
    if (count <= 0) return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool SendAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    if (!WaitFor(fd, POLLOUT, kSilenceMs)) return false;
    const ssize_t count = send(fd, data, size, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) return false;
    data += std::max<ssize_t>(count, 0);
    size -= static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

absl::StatusOr<net::UniqueFd> ConnectTo(const std::string& address, const std::string& secret,
                                        char mode) {
  ASSIGN_OR_RETURN(net::UniqueFd fd, net::StartConnection(address));
  if (!WaitFor(fd.get(), POLLOUT, kConnectMs)) {
    return absl::DeadlineExceededError("no answer to a TCP connection within 5 s (a firewall?)");
  }
  if (const int error = net::ConnectionError(fd.get()); error != 0) {
    return absl::UnavailableError(net::ErrnoText(error));
  }
  net::SetNoDelay(fd.get());
  const std::string greeting = secret + mode;
  if (!SendAll(fd.get(), greeting.data(), greeting.size())) {
    return absl::UnavailableError("the connection broke");
  }
  return fd;
}

absl::StatusOr<double> MeasureRtt(const std::string& address, const std::string& secret,
                                  const Clock& clock) {
  ASSIGN_OR_RETURN(const net::UniqueFd fd, ConnectTo(address, secret, kEcho));
  std::vector<double> rtts_us;
  char ping[kPingBytes] = {};
  for (int i = 0; i < kPings; ++i) {
    const int64_t start_ns = clock.NowNs();
    if (!SendAll(fd.get(), ping, sizeof ping) || !ReceiveAll(fd.get(), ping, sizeof ping)) {
      return absl::UnavailableError(
          "the connection was closed: the address belongs to another host, or it broke");
    }
    rtts_us.push_back(static_cast<double>(clock.NowNs() - start_ns) * 1e-3);
  }
  std::nth_element(rtts_us.begin(), rtts_us.begin() + kPings / 2, rtts_us.end());
  return rtts_us[kPings / 2];
}

absl::StatusOr<double> MeasureRate(const std::string& address, const std::string& secret,
                                   double seconds, const Clock& clock) {
  ASSIGN_OR_RETURN(const net::UniqueFd fd, ConnectTo(address, secret, kSink));
  const std::vector<char> block(kBlockBytes);
  const int64_t end_ns = clock.NowNs() + static_cast<int64_t>(seconds * 1e9);
  do {
    if (!SendAll(fd.get(), block.data(), block.size())) {
      return absl::UnavailableError("the connection broke, or stood still for 5 s");
    }
  } while (clock.NowNs() < end_ns);
  shutdown(fd.get(), SHUT_WR);
  SinkCount count;
  if (!ReceiveAll(fd.get(), reinterpret_cast<char*>(&count), sizeof count) ||
      count.duration_ns <= 0) {
    return absl::UnavailableError("the other host did not say how much arrived");
  }
  return static_cast<double>(count.bytes) / (static_cast<double>(count.duration_ns) * 1e-9);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProbeServer>> ProbeServer::Start(const std::string& address,
                                                                const Clock& clock) {
  ASSIGN_OR_RETURN(net::UniqueFd listener, net::ListenOn(address, 0));
  return std::unique_ptr<ProbeServer>(new ProbeServer(std::move(listener), clock));
}

ProbeServer::ProbeServer(net::UniqueFd listener, const Clock& clock)
    : listener_(std::move(listener)), secret_(net::MakeToken()), clock_(clock) {
  accepting_ = StartQuietThread([this] { Accept(); });
}

ProbeServer::~ProbeServer() {
  stopping_ = true;
  accepting_.join();
  for (std::thread& thread : serving_) thread.join();
}

std::string ProbeServer::address() const { return net::OwnAddress(listener_.get()); }

void ProbeServer::Accept() {
  while (!stopping_) {
    if (!WaitFor(listener_.get(), POLLIN, 50)) continue;
    std::string from;
    net::UniqueFd fd = net::AcceptConnection(listener_.get(), from);
    if (!fd.valid() || serving_.size() >= kConnectionsMax) continue;
    const auto shared = std::make_shared<net::UniqueFd>(std::move(fd));
    serving_.push_back(StartQuietThread([this, shared] { Serve(shared->get()); }));
  }
}

void ProbeServer::Serve(int fd) {
  net::SetNoDelay(fd);
  std::string greeting(secret_.size() + 1, '\0');
  if (!ReceiveAll(fd, greeting.data(), greeting.size())) return;
  if (!net::TokensEqual(std::string_view(greeting).substr(0, secret_.size()), secret_)) return;
  std::vector<char> block(kBlockBytes);
  SinkCount count = {};
  int64_t first_ns = 0;
  while (!stopping_) {
    const ssize_t got = Receive(fd, block.data(), block.size());
    if (got < 0) return;
    if (greeting.back() == kEcho) {
      if (got == 0 || !SendAll(fd, block.data(), static_cast<size_t>(got))) return;
      continue;
    }
    const int64_t now_ns = clock_.NowNs();
    if (got == 0) {
      SendAll(fd, reinterpret_cast<const char*>(&count), sizeof count);
      return;
    }
    // What came with the first read arrived before the time began.
    if (first_ns == 0) {
      first_ns = now_ns;
      continue;
    }
    count.bytes += got;
    count.duration_ns = now_ns - first_ns;
  }
}

absl::StatusOr<PairFigures> ProbePeer(const std::string& address, const std::string& secret,
                                      double seconds, const Clock& clock) {
  const absl::StatusOr<double> rtt_us = MeasureRtt(address, secret, clock);
  RETURN_IF_ERROR(Annotate(rtt_us.status(), absl::StrCat("cannot reach ", address, ": ")));
  const absl::StatusOr<double> rate = MeasureRate(address, secret, seconds, clock);
  RETURN_IF_ERROR(Annotate(rate.status(), absl::StrCat("cannot send to ", address, ": ")));
  return PairFigures{.rtt_us = *rtt_us, .bytes_per_s = *rate};
}

}  // namespace crossover::experiments
