// Memory that other processes of this host can map: anonymous files (memfd), which end with their
// last user however that ends, on huge pages where the system gives them. A process that may trace
// the owner (same user, same PID namespace) maps a buffer by its address, through /proc.
// Errors name the process and the descriptor.
#ifndef CROSSOVER_OS_SHARED_MEMORY_H_
#define CROSSOVER_OS_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace crossover::os {

// Where a buffer is found by other processes of this host. Plain data: it may lie in shared memory.
struct SharedBufferAddress {
  int64_t pid = 0;
  int64_t fd = -1;
  uint64_t inode = 0;  // tells a descriptor that was closed and used again apart
  uint64_t bytes = 0;
  bool operator==(const SharedBufferAddress&) const = default;
};
std::string ToString(const SharedBufferAddress& address);  // "PID:FD:INODE:BYTES"
absl::StatusOr<SharedBufferAddress> ParseSharedBufferAddress(std::string_view text);

// A stretch of mapped memory. Move-only; not thread-safe.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  // The first `bytes` of `fd`, for reading and writing, at an address that suits huge pages.
  static absl::StatusOr<Mapping> Map(int fd, size_t bytes);
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  Mapping(std::byte* data, size_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// One buffer of this process, all zeros at first; its size never changes. Move-only. Peers that
// have mapped it keep the memory after it is gone.
class SharedBuffer {
 public:
  // `name` is what /proc shows. Takes the memory at once, so that a lack of it is an error here and
  // not a signal later. 0 bytes are allowed.
  static absl::StatusOr<SharedBuffer> Create(const std::string& name, size_t bytes);
  std::byte* data() const { return mapping_.data(); }
  size_t size() const { return address_.bytes; }
  int fd() const { return fd_.get(); }
  const SharedBufferAddress& address() const { return address_; }

 private:
  SharedBuffer(UniqueFd fd, Mapping mapping, SharedBufferAddress address)
      : fd_(std::move(fd)), mapping_(std::move(mapping)), address_(address) {}
  UniqueFd fd_;
  Mapping mapping_;
  SharedBufferAddress address_;
};

// Another process's buffer (or one's own), mapped here. Move-only.
class MappedPeerBuffer {
 public:
  // Refuses what is not a SharedBuffer of this user and this size: the owner cannot cut it short
  // later either, which would end this process by a signal.
  static absl::StatusOr<MappedPeerBuffer> Map(const SharedBufferAddress& address);
  std::byte* data() const { return mapping_.data(); }
  size_t size() const { return address_.bytes; }
  const SharedBufferAddress& address() const { return address_; }

 private:
  MappedPeerBuffer(Mapping mapping, SharedBufferAddress address)
      : mapping_(std::move(mapping)), address_(address) {}
  Mapping mapping_;
  SharedBufferAddress address_;
};

// Makes buffers, owns them, and knows which one a range of memory lies in. Thread-safe.
class SharedBufferRegistry {
 public:
  SharedBufferRegistry() = default;
  SharedBufferRegistry(const SharedBufferRegistry&) = delete;
  SharedBufferRegistry& operator=(const SharedBufferRegistry&) = delete;

  // `bytes` zeros on a page of their own, valid until Free or the registry's end.
  absl::StatusOr<std::byte*> Allocate(const std::string& name, size_t bytes);
  // What Allocate gave (CHECK).
  void Free(std::byte* data);

  struct Place {
    SharedBufferAddress buffer;
    uint64_t offset = 0;  // of the range in the buffer
  };
  // nullopt unless the range lies in one buffer as a whole.
  std::optional<Place> Find(const std::byte* begin, size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, SharedBuffer> buffers_;  // by their first byte
};

}  // namespace crossover::os

#endif  // CROSSOVER_OS_SHARED_MEMORY_H_
