// Owns a file descriptor; movable. Closing is all that it does by itself. Not thread-safe.
#ifndef CROSSOVER_OS_UNIQUE_FD_H_
#define CROSSOVER_OS_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace crossover::os {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = other.Release();
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives the descriptor away; -1 if there is none.
  int Release() { return std::exchange(fd_, -1); }
  void Reset() {
    if (fd_ >= 0) close(Release());
  }

 private:
  int fd_ = -1;
};

}  // namespace crossover::os

#endif  // CROSSOVER_OS_UNIQUE_FD_H_
