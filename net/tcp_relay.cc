#include "net/tcp_relay.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "net/address.h"

namespace crossover::net {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

TcpRelay::TcpRelay(const std::string& target) : target_port_(ParseHostPort(target).value().port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  CROSSOVER_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                      listen(listener_, 16) == 0 &&
                      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
                      pipe(wake_) == 0,
                  "a test can have a port and a pipe");
  address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  thread_ = std::thread([this] { Loop(); });
}

TcpRelay::~TcpRelay() {
  SetState(State::kEnded);
  thread_.join();
  if (listener_ >= 0) close(listener_);
  close(wake_[0]);
  close(wake_[1]);
}

void TcpRelay::SetState(State state) {
  state_ = state;
  const char byte = 0;
  CROSSOVER_CHECK(write(wake_[1], &byte, 1) == 1, "a pipe takes a byte");
}

void TcpRelay::Accept() {
  const int near = accept(listener_, nullptr, nullptr);
  if (near < 0) return;
  const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(target_port_);
  if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(near);
    close(far);
    return;
  }
  connections_.emplace_back(near, far);
}

bool TcpRelay::Move(int from, int to) {
  char buffer[16384];
  const ssize_t got = recv(from, buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t n = send(to, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += n;
  }
  return true;
}

void TcpRelay::CloseAll() {
  for (const auto& [near, far] : connections_) {
    close(near);
    close(far);
  }
  connections_.clear();
}

void TcpRelay::Loop() {
  while (state_ != State::kEnded) {
    if (state_ == State::kCut && listener_ >= 0) {
      CloseAll();
      close(listener_);
      listener_ = -1;
    }
    std::vector<pollfd> fds = {{wake_[0], POLLIN, 0}};
    if (state_ == State::kOpen) {
      fds.push_back({listener_, POLLIN, 0});
      for (const auto& [near, far] : connections_) {
        fds.push_back({near, POLLIN, 0});
        fds.push_back({far, POLLIN, 0});
      }
    }
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) {
      char byte;
      CROSSOVER_CHECK(read(wake_[0], &byte, 1) == 1, "the pipe has a byte");
      continue;
    }
    std::vector<std::pair<int, int>> open;
    for (size_t i = 0; i < connections_.size(); ++i) {
      const auto [near, far] = connections_[i];
      const bool alive = (fds[2 + 2 * i].revents == 0 || Move(near, far)) &&
                         (fds[3 + 2 * i].revents == 0 || Move(far, near));
      if (alive) {
        open.emplace_back(near, far);
      } else {
        close(near);
        close(far);
      }
    }
    connections_ = std::move(open);
    if (fds[1].revents != 0) Accept();
  }
  CloseAll();
}

}  // namespace crossover::net
