#include "os/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/check.h"
#include "core/status.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace crossover::os {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status SystemError(absl::string_view what) {
  const int error = errno;
  const auto code = error == ENOMEM || error == ENOSPC || error == EMFILE || error == ENFILE
                        ? absl::StatusCode::kResourceExhausted
                        : absl::StatusCode::kInternal;
  return absl::Status(code, absl::StrCat(what, ": ", std::strerror(error)));
}

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Whole pages, at least one; whole huge pages where there is more than one.
size_t FileBytes(size_t bytes) {
  if (bytes >= kHugePageBytes) return RoundUp(bytes, kHugePageBytes);
  return std::max(RoundUp(bytes, kPageBytes), kPageBytes);
}

// What a wrong address usually means.
constexpr char kFix[] =
    " (ranks that share memory must run as one user in one PID namespace: in containers, give "
    "them a common one)";

absl::Status CheckIsBuffer(int fd, const SharedBufferAddress& address) {
  struct stat found;
  if (fstat(fd, &found) != 0) return SystemError("fstat");
  const int seals = fcntl(fd, F_GET_SEALS);
  if (!S_ISREG(found.st_mode) || found.st_ino != address.inode || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0) {
    return absl::FailedPreconditionError(absl::StrCat("it is not the buffer that was meant", kFix));
  }
  if (found.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("it belongs to user ", found.st_uid, ", we are ", geteuid(), kFix));
  }
  if (static_cast<uint64_t>(found.st_size) < address.bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("it has ", found.st_size, " bytes, not ", address.bytes));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ToString(const SharedBufferAddress& address) {
  return absl::StrCat(address.pid, ":", address.fd, ":", address.inode, ":", address.bytes);
}

absl::StatusOr<SharedBufferAddress> ParseSharedBufferAddress(std::string_view text) {
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ':');
  SharedBufferAddress address;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &address.pid) ||
      !absl::SimpleAtoi(parts[1], &address.fd) || !absl::SimpleAtoi(parts[2], &address.inode) ||
      !absl::SimpleAtoi(parts[3], &address.bytes) || address.pid <= 0 || address.fd < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::string_view(text.data(), std::min<size_t>(text.size(), 100)),
                     "\" is no address of a shared buffer: PID:FD:INODE:BYTES is"));
  }
  return address;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::StatusOr<Mapping> Mapping::Map(int fd, size_t bytes) {
  // A huge page needs an address that is a multiple of its size: reserve more, keep the middle.
  const size_t unit = bytes >= kHugePageBytes ? kHugePageBytes : kPageBytes;
  const size_t reserved = bytes + unit - kPageBytes;
  if (reserved < bytes) return absl::ResourceExhaustedError("more bytes than addresses");
  void* const room = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return SystemError(absl::StrCat("mapping ", bytes, " bytes"));
  const auto start = reinterpret_cast<uintptr_t>(room);
  const size_t before = RoundUp(start, unit) - start;
  auto* const data = static_cast<std::byte*>(room) + before;
  if (before > 0) munmap(room, before);
  if (reserved - before > bytes) munmap(data + bytes, reserved - before - bytes);
  if (mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const absl::Status error = SystemError(absl::StrCat("mapping ", bytes, " bytes"));
    munmap(data, bytes);
    return error;
  }
  static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));  // a wish
  return Mapping(data, bytes);
}

absl::StatusOr<SharedBuffer> SharedBuffer::Create(const std::string& name, size_t bytes) {
  const std::string what = absl::StrCat("shared buffer ", name, " of ", bytes, " bytes: ");
  const size_t file_bytes = FileBytes(bytes);
  if (file_bytes < bytes || bytes > (uint64_t{1} << 62)) {
    return absl::ResourceExhaustedError(absl::StrCat(what, "more than there can be"));
  }
  UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return SystemError(absl::StrCat(what, "memfd_create"));
  if (ftruncate(fd.get(), static_cast<off_t>(file_bytes)) != 0) {
    return SystemError(absl::StrCat(what, "ftruncate"));
  }
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return SystemError(absl::StrCat(what, "seal"));
  struct stat found;
  if (fstat(fd.get(), &found) != 0) return SystemError(absl::StrCat(what, "fstat"));
  absl::StatusOr<Mapping> mapping = Mapping::Map(fd.get(), file_bytes);
  if (!mapping.ok()) return Annotate(mapping.status(), what);
  // Kernels before 5.14 do not know it, and give the memory at the first touch.
  if (madvise(mapping->data(), file_bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    return SystemError(absl::StrCat(what, "taking the memory"));
  }
  const SharedBufferAddress address = {getpid(), fd.get(), found.st_ino, bytes};
  return SharedBuffer(std::move(fd), *std::move(mapping), address);
}

absl::StatusOr<MappedPeerBuffer> MappedPeerBuffer::Map(const SharedBufferAddress& address) {
  const std::string what =
      absl::StrCat("descriptor ", address.fd, " of process ", address.pid, ": ");
  const std::string path = absl::StrCat("/proc/", address.pid, "/fd/", address.fd);
  // Not blocking, should it be a pipe.
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) {
    const bool gone = errno == ENOENT;
    return absl::Status(
        gone ? absl::StatusCode::kNotFound : absl::StatusCode::kPermissionDenied,
        absl::StrCat(what, gone ? "there is none, or no such process" : std::strerror(errno),
                     kFix));
  }
  RETURN_IF_ERROR(Annotate(CheckIsBuffer(fd.get(), address), what));
  absl::StatusOr<Mapping> mapping = Mapping::Map(fd.get(), FileBytes(address.bytes));
  if (!mapping.ok()) return Annotate(mapping.status(), what);
  return MappedPeerBuffer(*std::move(mapping), address);
}

absl::StatusOr<std::byte*> SharedBufferRegistry::Allocate(const std::string& name, size_t bytes) {
  ASSIGN_OR_RETURN(SharedBuffer buffer, SharedBuffer::Create(name, bytes));
  std::byte* const data = buffer.data();
  const std::lock_guard lock(mutex_);
  buffers_.emplace(data, std::move(buffer));
  return data;
}

void SharedBufferRegistry::Free(std::byte* data) {
  const std::lock_guard lock(mutex_);
  CROSSOVER_CHECK(buffers_.erase(data) == 1, "only what was allocated here is freed, once");
}

std::optional<SharedBufferRegistry::Place> SharedBufferRegistry::Find(const std::byte* begin,
                                                                      size_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto after = buffers_.upper_bound(begin);
  if (after == buffers_.begin()) return std::nullopt;
  const SharedBuffer& buffer = std::prev(after)->second;
  const auto offset = static_cast<size_t>(begin - buffer.data());
  if (offset > buffer.size() || bytes > buffer.size() - offset) return std::nullopt;
  return Place{buffer.address(), offset};
}

}  // namespace crossover::os
