// Owns a file descriptor; movable. Closing is all that it does by itself.
#ifndef CROSSOVER_LAB_FILE_DESCRIPTOR_H_
#define CROSSOVER_LAB_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace crossover::lab {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { Reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_FILE_DESCRIPTOR_H_
