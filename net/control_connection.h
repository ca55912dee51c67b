// The sending and receiving end of one peer's control connection: whole messages over a
// non-blocking socket. Nothing here blocks.
#ifndef CROSSOVER_NET_CONTROL_CONNECTION_H_
#define CROSSOVER_NET_CONTROL_CONNECTION_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "net/control_message.h"
#include "os/unique_fd.h"

namespace crossover::net {

class ControlConnection {
 public:
  explicit ControlConnection(os::UniqueFd fd) : fd_(std::move(fd)) {}

  // Sending; from any thread. A note is lost if earlier ones still wait for the peer's machine,
  // so that there is always room for the last message, after which nothing more is sent.
  void SendNote(const std::string& text);
  void SendLast(ControlKind kind, const std::string& text);
  // Tries again with what the kernel did not take at once.
  void Flush();
  bool has_unsent() const { return has_unsent_.load(std::memory_order_relaxed); }

  // Receiving; from one thread. What has come since the last call.
  struct News {
    std::optional<std::string> note;  // the latest
    std::optional<std::string> last_words;
    bool goodbye = false;
    bool ended = false;  // the connection has; nothing more will come
    int error = 0;       // then: errno if it was cut, 0 if it was closed
  };
  // Errors: what came is no control message.
  absl::StatusOr<News> Receive();

  // For the end, after SendLast: whether the peer's machine has everything, or the peer has gone.
  // Throws away what comes, since with a connection that is closed over unread bytes the kernel
  // drops what it has not delivered.
  enum class Delivery { kUnderWay, kDone, kGone };
  Delivery CheckDelivery();

  int fd() const { return fd_.get(); }

 private:
  void FlushLocked();

  const os::UniqueFd fd_;

  std::mutex mutex_;
  std::string unsent_;      // guarded by mutex_
  bool said_last_ = false;  // guarded by mutex_
  std::atomic<bool> has_unsent_ = false;

  std::array<std::byte, kControlMessageBytesMax> buffer_;
  size_t buffered_bytes_ = 0;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_CONTROL_CONNECTION_H_
