#include "net/tcp_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"
#include "net/one_line.h"

namespace crossover::net {
namespace {

constexpr int64_t kFindFarewellNs = 300'000'000;
constexpr size_t kSkipBytes = 16384;

bool WouldBlock(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

TcpConnection::TcpConnection(UniqueFd fd, int rank, int peer, std::string peer_name,
                             const Clock& clock)
    : fd_(std::move(fd)),
      rank_(rank),
      peer_(peer),
      peer_name_(std::move(peer_name)),
      clock_(clock) {}

void TcpConnection::StartSend(const MessageHeader& header, std::span<const std::byte> data) {
  CROSSOVER_CHECK(!sending_, "one message at a time");
  sending_ = true;
  writable_ = true;
  send_header_ = EncodeMessageHeader(header);
  send_data_ = data;
  sent_bytes_ = 0;
}

void TcpConnection::StartReceive(const MessageTag& tag, std::span<std::byte> into) {
  CROSSOVER_CHECK(!receiving_, "one message at a time");
  receiving_ = true;
  readable_ = true;
  receive_tag_ = tag;
  receive_into_ = into;
  received_bytes_ = 0;
}

short TcpConnection::poll_events() const {
  // A peer that has closed its side while we still owe it bytes has failed.
  short events = 0;
  if (sending_) events |= POLLOUT | POLLRDHUP;
  if (receiving_) events |= POLLIN;
  return events;
}

void TcpConnection::SetReady(short revents) {
  constexpr short kEnd = POLLERR | POLLHUP | POLLRDHUP;
  if ((revents & (POLLIN | kEnd)) != 0) readable_ = true;
  if ((revents & (POLLOUT | kEnd)) != 0) writable_ = true;
  if ((revents & kEnd) != 0) peer_closed_ = true;
}

bool TcpConnection::TakeMoved() { return std::exchange(moved_, false); }

absl::Status TcpConnection::SendSome() {
  if (!TrySend()) return Lost(errno);
  // Whoever has closed its side before it has our message will not ask for the rest.
  if (sending_ && !writable_ && peer_closed_) return Lost(0);
  return absl::OkStatus();
}

bool TcpConnection::TrySend() {
  std::array<iovec, 2> parts;
  size_t part_count = 0;
  if (sent_bytes_ < kMessageHeaderBytes) {
    parts[part_count++] = {send_header_.data() + sent_bytes_, kMessageHeaderBytes - sent_bytes_};
  }
  const size_t data_sent =
      sent_bytes_ > kMessageHeaderBytes ? sent_bytes_ - kMessageHeaderBytes : 0;
  if (data_sent < send_data_.size()) {
    // sendmsg only reads what iov_base points to.
    parts[part_count++] = {const_cast<std::byte*>(send_data_.data()) + data_sent,
                           send_data_.size() - data_sent};
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = part_count;
  const ssize_t n = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  if (n < 0) {
    if (!WouldBlock(errno)) return false;
    writable_ = false;
    return true;
  }
  moved_ = true;
  sent_bytes_ += static_cast<size_t>(n);
  sending_ = sent_bytes_ < kMessageHeaderBytes + send_data_.size();
  return true;
}

absl::Status TcpConnection::ReceiveSome() {
  const bool in_header = received_bytes_ < kMessageHeaderBytes;
  const std::span<std::byte> into =
      in_header ? std::span<std::byte>(receive_header_).subspan(received_bytes_)
                : receive_into_.subspan(received_bytes_ - kMessageHeaderBytes);
  const ssize_t n = recv(fd_.get(), into.data(), into.size(), 0);
  if (n == 0) return Lost(0);
  if (n < 0) {
    if (!WouldBlock(errno)) return Lost(errno);
    readable_ = false;
    return absl::OkStatus();
  }
  moved_ = true;
  received_bytes_ += static_cast<size_t>(n);
  if (in_header && received_bytes_ == kMessageHeaderBytes) RETURN_IF_ERROR(HeaderReceived());
  receiving_ = received_bytes_ < kMessageHeaderBytes + receive_into_.size();
  return absl::OkStatus();
}

absl::Status TcpConnection::HeaderReceived() {
  const absl::StatusOr<MessageHeader> header = DecodeMessageHeader(receive_header_);
  if (!header.ok()) return Annotate(header.status(), absl::StrCat(peer_name_, ": "));
  if (header->farewell) return Lost(0);
  return CheckMessage(peer_, rank_, *header, receive_tag_, receive_into_.size());
}

absl::Status TcpConnection::Lost(int error) {
  if (std::optional<std::string> farewell = FindFarewell()) {
    farewell_ = std::move(*farewell);
    return absl::AbortedError(farewell_);
  }
  return absl::UnavailableError(
      absl::StrCat(peer_name_, " closed the connection",
                   error != 0 ? absl::StrCat(" (", ErrnoText(error), ")") : ""));
}

std::optional<std::string> TcpConnection::FindFarewell() {
  const int64_t deadline_ns = clock_.NowNs() + kFindFarewellNs;
  size_t received = receiving_ ? received_bytes_ : 0;
  while (true) {
    if (received < kMessageHeaderBytes) {
      if (!ReadFully(std::span<std::byte>(receive_header_).subspan(received), deadline_ns)) {
        return std::nullopt;
      }
      received = kMessageHeaderBytes;
    }
    const absl::StatusOr<MessageHeader> header = DecodeMessageHeader(receive_header_);
    if (!header.ok()) return std::nullopt;
    if (header->farewell) {
      std::string text(header->bytes, '\0');
      const bool whole = ReadFully(std::as_writable_bytes(std::span(text)), deadline_ns);
      return whole && !text.empty() ? std::optional(OneLine(text)) : std::nullopt;
    }
    if (!SkipFully(header->bytes - (received - kMessageHeaderBytes), deadline_ns)) {
      return std::nullopt;
    }
    received = 0;
  }
}

bool TcpConnection::ReadFully(std::span<std::byte> into, int64_t deadline_ns) {
  while (!into.empty()) {
    const ssize_t n = recv(fd_.get(), into.data(), into.size(), 0);
    if (n == 0 || (n < 0 && !WouldBlock(errno))) return false;
    if (n > 0) {
      into = into.subspan(static_cast<size_t>(n));
      continue;
    }
    const int64_t left_ns = deadline_ns - clock_.NowNs();
    if (left_ns <= 0) return false;
    pollfd fd{fd_.get(), POLLIN, 0};
    poll(&fd, 1, PollTimeoutMs(left_ns));
  }
  return true;
}

bool TcpConnection::SkipFully(uint64_t bytes, int64_t deadline_ns) {
  std::array<std::byte, kSkipBytes> unwanted;
  while (bytes > 0) {
    const size_t part = static_cast<size_t>(std::min<uint64_t>(bytes, unwanted.size()));
    if (!ReadFully(std::span(unwanted).first(part), deadline_ns)) return false;
    bytes -= part;
    if (clock_.NowNs() > deadline_ns) return false;
  }
  return true;
}

void TcpConnection::CloseSending() { shutdown(fd_.get(), SHUT_WR); }

bool TcpConnection::DiscardSome() {
  std::array<std::byte, kSkipBytes> unwanted;
  const ssize_t n = recv(fd_.get(), unwanted.data(), unwanted.size(), 0);
  if (n < 0 && WouldBlock(errno)) {
    readable_ = false;
    return true;
  }
  return n > 0;
}

}  // namespace crossover::net
