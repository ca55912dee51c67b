// The bytes of a file in order, plain or decompressed (a name that ends in .gz is
// gzip, of one or more members). Nothing is read ahead of what is asked for beyond
// a fixed buffer, so a compressed file that unfolds to terabytes costs no more than
// its reader asks for. Not thread-safe. Blocks on the disk.
#ifndef CROSSOVER_WORKER_DATA_BYTE_SOURCE_H_
#define CROSSOVER_WORKER_DATA_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::worker {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills the buffer, or as much of it as there is: fewer bytes than asked for mean
  // the end. Errors name the file and the offset at which reading failed.
  virtual absl::StatusOr<size_t> Read(std::span<uint8_t> buffer) = 0;
  // Of the next byte, in the decompressed stream.
  virtual int64_t offset() const = 0;
  // No more bytes than this can come: the file's length, or for gzip the length
  // times deflate's largest ratio (1032, zlib's technical notes).
  virtual int64_t size_max() const = 0;
  // Whether size_max() is the exact number of bytes.
  virtual bool size_known() const = 0;
  virtual const std::string& path() const = 0;
};

absl::StatusOr<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path);

// Reads and forgets up to `bytes` bytes; returns how many there were.
absl::StatusOr<int64_t> SkipBytes(ByteSource& source, int64_t bytes);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_BYTE_SOURCE_H_
