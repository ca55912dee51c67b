#include "worker/data/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"

namespace crossover::worker {
namespace {

constexpr size_t kBufferBytes = size_t{64} * 1024;
constexpr int64_t kDeflateRatioMax = 1032;
// zlib: a window of 15 bits; 16 more ask for gzip's header and checksum.
constexpr int kGzipWindowBits = 15 + 16;

class PlainSource final : public ByteSource {
 public:
  PlainSource(std::string path, int descriptor, int64_t size_bytes)
      : path_(std::move(path)), descriptor_(descriptor), size_bytes_(size_bytes) {}
  ~PlainSource() override { close(descriptor_); }
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;

  absl::StatusOr<size_t> Read(std::span<uint8_t> buffer) override {
    size_t filled = 0;
    while (filled < buffer.size()) {
      const ssize_t n = read(descriptor_, buffer.data() + filled, buffer.size() - filled);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        return absl::DataLossError(
            absl::StrCat(path_, ": byte ", offset_, ": cannot be read: ", std::strerror(errno)));
      }
      if (n == 0) break;
      filled += n;
      offset_ += n;
    }
    return filled;
  }
  int64_t offset() const override { return offset_; }
  int64_t size_max() const override { return size_bytes_; }
  bool size_known() const override { return true; }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
  const int descriptor_;
  const int64_t size_bytes_;
  int64_t offset_ = 0;
};

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> file)
      : file_(std::move(file)), input_(kBufferBytes) {
    CROSSOVER_CHECK(inflateInit2(&stream_, kGzipWindowBits) == Z_OK, "memory for a zlib window");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  absl::StatusOr<size_t> Read(std::span<uint8_t> buffer) override {
    size_t filled = 0;
    while (filled < buffer.size()) {
      RETURN_IF_ERROR(FillInput());
      if (stream_.avail_in == 0) {
        if (member_complete_) break;
        return Damaged("the compressed stream ends here (truncated file)");
      }
      // More input after a member's end is another member.
      if (member_complete_) inflateReset(&stream_);
      member_complete_ = false;
      const size_t room = std::min(buffer.size() - filled, kBufferBytes);
      stream_.next_out = buffer.data() + filled;
      stream_.avail_out = static_cast<uInt>(room);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const size_t n = room - stream_.avail_out;
      filled += n;
      offset_ += static_cast<int64_t>(n);
      if (result == Z_STREAM_END) {
        member_complete_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return Damaged(stream_.msg != nullptr ? stream_.msg : zError(result));
      }
    }
    return filled;
  }
  int64_t offset() const override { return offset_; }
  int64_t size_max() const override { return file_->size_max() * kDeflateRatioMax; }
  bool size_known() const override { return false; }
  const std::string& path() const override { return file_->path(); }

 private:
  absl::Status FillInput() {
    if (stream_.avail_in > 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const size_t n, file_->Read(input_));
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(n);
    return absl::OkStatus();
  }
  absl::Status Damaged(absl::string_view why) const {
    return absl::DataLossError(absl::StrCat(
        path(), ": damaged gzip at byte ", offset_, " of the decompressed stream (byte ",
        file_->offset() - stream_.avail_in, " of the file): ", why));
  }

  const std::unique_ptr<ByteSource> file_;
  std::vector<uint8_t> input_;
  z_stream stream_ = {};
  int64_t offset_ = 0;
  bool member_complete_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path) {
  // O_NONBLOCK: a pipe by this name must be refused, not waited for.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const std::string message = absl::StrCat(path, ": cannot be opened: ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(message) : absl::FailedPreconditionError(message);
  }
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return absl::FailedPreconditionError(absl::StrCat(path, ": is not a regular file"));
  }
  std::unique_ptr<ByteSource> source =
      std::make_unique<PlainSource>(path, descriptor, status.st_size);
  if (absl::EndsWith(path, ".gz")) source = std::make_unique<GzipSource>(std::move(source));
  return source;
}

absl::StatusOr<int64_t> SkipBytes(ByteSource& source, int64_t bytes) {
  std::vector<uint8_t> scratch(kBufferBytes);
  int64_t skipped = 0;
  while (skipped < bytes) {
    const size_t want = std::min<int64_t>(bytes - skipped, scratch.size());
    ASSIGN_OR_RETURN(const size_t n, source.Read(std::span(scratch).first(want)));
    skipped += static_cast<int64_t>(n);
    if (n < want) break;
  }
  return skipped;
}

}  // namespace crossover::worker
