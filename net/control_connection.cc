#include "net/control_connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "core/status.h"
#include "net/socket.h"

namespace crossover::net {
namespace {

// Less than any socket's send buffer by more than the last message.
constexpr int kUndeliveredBytesMax = 4096;

}  // namespace

void ControlConnection::SendNote(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (said_last_ || !unsent_.empty() || UndeliveredBytes(fd_.get()) > kUndeliveredBytesMax) return;
  unsent_ = EncodeControlMessage(ControlKind::kNote, text);
  FlushLocked();
}

void ControlConnection::SendLast(ControlKind kind, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (said_last_) return;
  said_last_ = true;
  unsent_.append(EncodeControlMessage(kind, text));  // after the rest of a note, if any
  FlushLocked();
}

void ControlConnection::Flush() {
  const std::lock_guard lock(mutex_);
  FlushLocked();
}

void ControlConnection::FlushLocked() {
  while (!unsent_.empty()) {
    const ssize_t n = send(fd_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) unsent_.clear();  // the peer is gone: Receive tells
    if (n < 0) break;
    unsent_.erase(0, static_cast<size_t>(n));
  }
  has_unsent_.store(!unsent_.empty(), std::memory_order_relaxed);
}

absl::StatusOr<ControlConnection::News> ControlConnection::Receive() {
  News news;
  while (!news.goodbye && !news.last_words.has_value()) {
    const ssize_t n =
        recv(fd_.get(), buffer_.data() + buffered_bytes_, buffer_.size() - buffered_bytes_, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      news.ended = true;
      news.error = n < 0 ? errno : 0;
      break;
    }
    buffered_bytes_ += static_cast<size_t>(n);
    size_t read_bytes = 0;
    while (true) {
      size_t used = 0;
      ASSIGN_OR_RETURN(std::optional<ControlMessage> message,
                       DecodeControlMessage(
                           std::span(buffer_).first(buffered_bytes_).subspan(read_bytes), used));
      if (!message.has_value()) break;
      read_bytes += used;
      if (message->kind == ControlKind::kNote) news.note = std::move(message->text);
      if (message->kind == ControlKind::kLastWords) news.last_words = std::move(message->text);
      if (message->kind == ControlKind::kGoodbye) news.goodbye = true;
    }
    buffered_bytes_ -= read_bytes;
    std::memmove(buffer_.data(), buffer_.data() + read_bytes, buffered_bytes_);
  }
  return news;
}

ControlConnection::Delivery ControlConnection::CheckDelivery() {
  Flush();
  if (!DiscardInput(fd_.get())) return Delivery::kGone;
  return has_unsent() || UndeliveredBytes(fd_.get()) > 0 ? Delivery::kUnderWay : Delivery::kDone;
}

}  // namespace crossover::net
