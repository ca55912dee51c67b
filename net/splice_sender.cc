#include "net/splice_sender.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/check.h"

namespace crossover::net {
namespace {

// The most that an unprivileged process may ask for (fs.pipe-max-size), and enough: larger ones
// leave the cache before the receiver reads them.
constexpr int kPipeBytes = 1 << 20;

}  // namespace

void SpliceSender::MakePipe() {
  pipe_ = Pipe::kNone;
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return;
  os::UniqueFd read_end(ends[0]);
  os::UniqueFd write_end(ends[1]);
  if (fcntl(write_end.get(), F_SETPIPE_SZ, kPipeBytes) < kPipeBytes) return;
  read_end_ = std::move(read_end);
  write_end_ = std::move(write_end);
  pipe_ = Pipe::kMade;
}

void SpliceSender::FillPipe(std::span<const std::byte> data) {
  const std::span<const std::byte> rest = data.subspan(bytes_in_pipe_);
  // Little by little would fill the pipe with pieces of pages.
  if (rest.empty() || bytes_in_pipe_ > kPipeBytes / 2) return;
  // vmsplice only reads what iov_base points to.
  const iovec part{const_cast<std::byte*>(rest.data()), rest.size()};
  const ssize_t n = vmsplice(write_end_.get(), &part, 1, SPLICE_F_NONBLOCK);
  if (n > 0) bytes_in_pipe_ += static_cast<size_t>(n);
  // Memory that cannot be lent (a device's).
  if (n < 0 && errno != EAGAIN && errno != EINTR && bytes_in_pipe_ == 0) pipe_ = Pipe::kNone;
}

ssize_t SpliceSender::Send(int socket, std::span<const std::byte> data) {
  CROSSOVER_CHECK(data.size() >= bytes_in_pipe_, "what is in the pipe is offered again");
  if (pipe_ == Pipe::kNotMade) MakePipe();
  if (pipe_ == Pipe::kMade) FillPipe(data);
  if (pipe_ == Pipe::kNone) return send(socket, data.data(), data.size(), MSG_NOSIGNAL);
  if (bytes_in_pipe_ == 0) {
    errno = EAGAIN;
    return -1;
  }
  const ssize_t n = splice(read_end_.get(), nullptr, socket, nullptr, bytes_in_pipe_,
                           SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (n > 0) bytes_in_pipe_ -= static_cast<size_t>(n);
  return n;
}

void SpliceSender::IgnoreBrokenPipes() {
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

}  // namespace crossover::net
