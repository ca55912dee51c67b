// What the readers of all formats share: finding files, limits, exact ends. Pure
// but for looking at the file system; thread-safe.
#ifndef CROSSOVER_WORKER_DATA_DATA_FILES_H_
#define CROSSOVER_WORKER_DATA_DATA_FILES_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/byte_source.h"
#include "worker/data/dataset.h"

namespace crossover::worker {

// A data set is held in memory: more than this is refused before any of it is read.
inline constexpr int64_t kPixelBytesMax = int64_t{4} << 30;

// Refuses a path that is no directory; says how to get the default data set.
absl::Status CheckDataDirectory(const std::string& path);

// The first of these names that exists in the directory, as a path. The error lists
// all of them.
absl::StatusOr<std::string> FindDataFile(const std::string& directory,
                                         std::span<const std::string> names);

// Samples to use of those available: all if `limit` is 0. `field` ("data.train_limit")
// and `where` (a path) are for the error when there are not so many.
absl::StatusOr<int64_t> UsedSamples(absl::string_view field, int64_t limit, int64_t available,
                                    absl::string_view where);

// Fills the whole buffer, or an error: "FILE: ends at byte 12; PROMISE, 16 bytes".
// `promise` says what the file should have held, `promised_bytes` up to which byte.
absl::Status ReadExactly(ByteSource& source, std::span<uint8_t> buffer, absl::string_view promise,
                         int64_t promised_bytes);

// Passes over the bytes up to `promised_bytes` and refuses a stream that ends before
// or goes on after it; a gzip's checksum is thereby checked too.
absl::Status SkipToExactEnd(ByteSource& source, absl::string_view promise, int64_t promised_bytes);

// Refuses, without reading, a stream that cannot hold exactly `promised_bytes`.
absl::Status CheckPossibleSize(const ByteSource& source, absl::string_view promise,
                               int64_t promised_bytes);

// "28x28" or "3x32x32".
std::string ShapeText(const DataShape& shape);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_DATA_FILES_H_
