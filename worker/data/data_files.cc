#include "worker/data/data_files.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"

namespace crossover::worker {
namespace {

absl::Status EndsEarly(const ByteSource& source, int64_t end, absl::string_view promise,
                       int64_t promised_bytes) {
  return absl::DataLossError(absl::StrCat(source.path(), ": ends at byte ", end, "; ", promise,
                                          ", ", promised_bytes, " bytes"));
}

absl::Status GoesOn(const ByteSource& source, absl::string_view promise, int64_t promised_bytes) {
  const std::string extent =
      source.size_known() ? absl::StrCat(" (", source.size_max(), " bytes in all)") : "";
  return absl::DataLossError(absl::StrCat(source.path(), ": byte ", promised_bytes,
                                          ": the file goes on", extent, "; ", promise, ", ",
                                          promised_bytes, " bytes"));
}

}  // namespace

absl::Status CheckDataDirectory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  const bool exists = std::filesystem::exists(path, error);
  std::string fix = "set data.path to the directory of the data files";
  if (path == proto::Data::default_instance().path()) {
    fix = "apt-get install dataset-fashion-mnist puts Fashion-MNIST there, or " + fix;
  }
  return absl::NotFoundError(absl::StrCat(
      "data.path: ", path, exists ? " is not a directory; " : " does not exist; ", fix));
}

absl::StatusOr<std::string> FindDataFile(const std::string& directory,
                                         std::span<const std::string> names) {
  for (const std::string& name : names) {
    const std::filesystem::path path = std::filesystem::path(directory) / name;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return absl::NotFoundError(absl::StrCat("data.path: ", directory, " has no ",
                                          absl::StrJoin(names, ", nor "),
                                          "; put the file there or set data.path and data.format"));
}

absl::StatusOr<int64_t> UsedSamples(absl::string_view field, int64_t limit, int64_t available,
                                    absl::string_view where) {
  if (limit < 0 || limit > available) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", limit, " asked for, ", where,
                                                   " has ", available,
                                                   " samples; allowed: 0 (all) to ", available));
  }
  return limit == 0 ? available : limit;
}

absl::Status ReadExactly(ByteSource& source, std::span<uint8_t> buffer, absl::string_view promise,
                         int64_t promised_bytes) {
  ASSIGN_OR_RETURN(const size_t n, source.Read(buffer));
  if (n == buffer.size()) return absl::OkStatus();
  return EndsEarly(source, source.offset(), promise, promised_bytes);
}

absl::Status SkipToExactEnd(ByteSource& source, absl::string_view promise, int64_t promised_bytes) {
  const int64_t rest = promised_bytes - source.offset();
  ASSIGN_OR_RETURN(const int64_t skipped, SkipBytes(source, rest));
  if (skipped < rest) return EndsEarly(source, source.offset(), promise, promised_bytes);
  ASSIGN_OR_RETURN(const int64_t beyond, SkipBytes(source, 1));
  return beyond == 0 ? absl::OkStatus() : GoesOn(source, promise, promised_bytes);
}

absl::Status CheckPossibleSize(const ByteSource& source, absl::string_view promise,
                               int64_t promised_bytes) {
  if (source.size_max() < promised_bytes) {
    if (source.size_known()) {
      return EndsEarly(source, source.size_max(), promise, promised_bytes);
    }
    return absl::DataLossError(absl::StrCat(source.path(), ": can unfold to ", source.size_max(),
                                            " bytes at most; ", promise, ", ", promised_bytes,
                                            " bytes"));
  }
  if (source.size_known() && source.size_max() > promised_bytes) {
    return GoesOn(source, promise, promised_bytes);
  }
  return absl::OkStatus();
}

std::string ShapeText(const DataShape& shape) {
  const std::string plane = absl::StrCat(shape.height, "x", shape.width);
  return shape.channels == 1 ? plane : absl::StrCat(shape.channels, "x", plane);
}

}  // namespace crossover::worker
