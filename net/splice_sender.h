// send(2) without copying, by vmsplice(2) and splice(2): the bytes' pages travel through a pipe
// into the socket and stay the caller's, so they must not change before the receiver has
// answered. Where the system has no pipe to give, it copies as send(2) does.
#ifndef CROSSOVER_NET_SPLICE_SENDER_H_
#define CROSSOVER_NET_SPLICE_SENDER_H_

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "os/unique_fd.h"

namespace crossover::net {

// For one socket, and one thread at a time. The pipe is made by the first Send.
class SpliceSender {
 public:
  // Moves what the socket takes at once, as send(2) does: the number of bytes, or -1 with errno,
  // EAGAIN while it takes none. `socket` must be non-blocking (splice does not ask for
  // SPLICE_F_NONBLOCK there). Bytes of `data` that have not been moved may be in the pipe
  // already: the next call's `data` must begin with them.
  ssize_t Send(int socket, std::span<const std::byte> data);
  size_t bytes_in_pipe() const { return bytes_in_pipe_; }

  // splice knows no MSG_NOSIGNAL: lets the process ignore SIGPIPE, unless it handles it.
  static void IgnoreBrokenPipes();

 private:
  enum class Pipe { kNotMade, kMade, kNone };
  void MakePipe();
  void FillPipe(std::span<const std::byte> data);

  Pipe pipe_ = Pipe::kNotMade;
  os::UniqueFd read_end_;
  os::UniqueFd write_end_;
  size_t bytes_in_pipe_ = 0;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_SPLICE_SENDER_H_
