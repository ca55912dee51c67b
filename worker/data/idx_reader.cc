#include "worker/data/idx_reader.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/status.h"
#include "worker/data/byte_source.h"
#include "worker/data/data_files.h"

namespace crossover::worker {
namespace {

constexpr int64_t kSideMax = 4096;

// A file whose header has been read and found possible; its source stands at the
// first value.
struct IdxFile {
  std::unique_ptr<ByteSource> source;
  std::vector<int64_t> sizes;  // samples first
  std::string promise;         // "the header promises 60000 images of 28x28"
  int64_t bytes = 0;           // of the whole stream, header included

  int64_t samples() const { return sizes[0]; }
};

// Images and labels of one half of the data set.
struct IdxHalf {
  IdxFile images;
  IdxFile labels;
};

std::vector<std::string> IdxNames(absl::string_view half, absl::string_view kind, int dimensions) {
  const std::string dash = absl::StrCat(half, "-", kind, "-idx", dimensions, "-ubyte");
  const std::string dot = absl::StrCat(half, "-", kind, ".idx", dimensions, "-ubyte");
  return {dash, dot, dash + ".gz", dot + ".gz"};
}

absl::Status CheckMagic(const std::string& path, std::span<const uint8_t> magic, int dimensions) {
  const uint8_t expected[] = {0, 0, 8, static_cast<uint8_t>(dimensions)};
  if (std::equal(magic.begin(), magic.end(), expected)) return absl::OkStatus();
  const bool gzip = magic[0] == 0x1f && magic[1] == 0x8b;
  return absl::DataLossError(absl::StrFormat(
      "%s: byte 0: the magic number is %02x%02x%02x%02x; expected 0000080%d (unsigned bytes in %d "
      "dimension%s)%s",
      path, magic[0], magic[1], magic[2], magic[3], dimensions, dimensions,
      dimensions == 1 ? "" : "s", gzip ? "; it is a gzip: its name must end in .gz" : ""));
}

// Each size at least 1 and an image's sides bounded, so that products cannot overflow.
absl::Status CheckSizes(const std::string& path, std::span<const int64_t> sizes) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool side = d > 0;
    if (sizes[d] >= 1 && (!side || sizes[d] <= kSideMax)) continue;
    return absl::DataLossError(absl::StrCat(
        path, ": byte ", 4 + 4 * d, ": the header promises a size of ", sizes[d], " in dimension ",
        d, "; allowed: ", side ? absl::StrCat("1 to ", kSideMax) : "at least 1"));
  }
  return absl::OkStatus();
}

absl::StatusOr<IdxFile> OpenIdx(const std::string& directory, absl::string_view half,
                                absl::string_view kind, int dimensions) {
  ASSIGN_OR_RETURN(const std::string path,
                   FindDataFile(directory, IdxNames(half, kind, dimensions)));
  IdxFile file;
  ASSIGN_OR_RETURN(file.source, OpenByteSource(path));
  const int64_t header_bytes = 4 + 4 * dimensions;
  std::vector<uint8_t> header(header_bytes);
  RETURN_IF_ERROR(ReadExactly(*file.source, header, "an IDX header is needed", header_bytes));
  RETURN_IF_ERROR(CheckMagic(path, std::span(header).first(4), dimensions));
  for (int d = 0; d < dimensions; ++d) {
    const uint8_t* b = &header[4 + 4 * d];
    file.sizes.push_back(int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | b[3]);
  }
  RETURN_IF_ERROR(CheckSizes(path, file.sizes));
  int64_t values = 1;
  for (const int64_t size : file.sizes) values *= size;
  file.promise = absl::StrCat("the header promises ", file.samples(), " ", kind);
  if (dimensions == 3) absl::StrAppend(&file.promise, " of ", file.sizes[1], "x", file.sizes[2]);
  file.bytes = header_bytes + values;
  if (values > kPixelBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": byte 4: ", file.promise, ", ", file.bytes,
                     " bytes; allowed: ", kPixelBytesMax, " bytes"));
  }
  RETURN_IF_ERROR(CheckPossibleSize(*file.source, file.promise, file.bytes));
  return file;
}

absl::StatusOr<IdxHalf> OpenHalf(const std::string& directory, absl::string_view half) {
  IdxHalf files;
  ASSIGN_OR_RETURN(files.images, OpenIdx(directory, half, "images", 3));
  ASSIGN_OR_RETURN(files.labels, OpenIdx(directory, half, "labels", 1));
  if (files.images.samples() != files.labels.samples()) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.labels.source->path(), ": byte 4: ", files.labels.samples(), " labels; ",
                     files.images.source->path(), " has ", files.images.samples(), " images"));
  }
  return files;
}

DataShape ShapeOf(const IdxFile& images) {
  DataShape shape;
  shape.height = static_cast<int>(images.sizes[1]);
  shape.width = static_cast<int>(images.sizes[2]);
  return shape;
}

absl::StatusOr<std::pair<IdxHalf, IdxHalf>> OpenBoth(const std::string& directory) {
  RETURN_IF_ERROR(CheckDataDirectory(directory));
  ASSIGN_OR_RETURN(IdxHalf train, OpenHalf(directory, "train"));
  ASSIGN_OR_RETURN(IdxHalf test, OpenHalf(directory, "t10k"));
  const DataShape train_shape = ShapeOf(train.images), test_shape = ShapeOf(test.images);
  if (train_shape.height != test_shape.height || train_shape.width != test_shape.width) {
    return absl::InvalidArgumentError(
        absl::StrCat(test.images.source->path(), ": byte 8: images of ", ShapeText(test_shape),
                     "; ", train.images.source->path(), " has images of ", ShapeText(train_shape)));
  }
  return std::pair(std::move(train), std::move(test));
}

// All labels of a file.
absl::StatusOr<std::vector<uint8_t>> ReadLabels(IdxFile& file) {
  std::vector<uint8_t> labels(file.samples());
  RETURN_IF_ERROR(ReadExactly(*file.source, labels, file.promise, file.bytes));
  RETURN_IF_ERROR(SkipToExactEnd(*file.source, file.promise, file.bytes));
  return labels;
}

absl::Status BadLabel(const IdxFile& file, int64_t index, absl::string_view what) {
  const int64_t header_bytes = file.bytes - file.samples();
  return absl::DataLossError(
      absl::StrCat(file.source->path(), ": byte ", header_bytes + index, ": label ", what));
}

// One more than the largest training label, at least two. Labels count from 0, or as in EMNIST's
// letters from 1, and leave none out: one beyond a gap would otherwise only make the model wider.
absl::StatusOr<int> CountClasses(const IdxFile& file, std::span<const uint8_t> labels) {
  std::array<bool, 257> occurs = {};  // one more, so that a gap always begins
  for (const uint8_t label : labels) occurs[label] = true;
  const auto gap = std::find(occurs.begin() + (occurs[0] ? 0 : 1), occurs.end(), false);
  const auto beyond_gap = std::find(gap, occurs.end(), true);
  const int gap_begin = static_cast<int>(gap - occurs.begin());
  if (beyond_gap == occurs.end()) return std::max(2, gap_begin);
  const auto wrong =
      std::find_if(labels.begin(), labels.end(), [&](uint8_t label) { return label > gap_begin; });
  return BadLabel(file, wrong - labels.begin(),
                  absl::StrCat(*wrong, ", but no training label is ", gap_begin,
                               "; allowed: classes without a gap, from 0 or 1"));
}

absl::Status CheckLabels(const IdxFile& file, std::span<const uint8_t> labels, int classes) {
  const auto wrong =
      std::find_if(labels.begin(), labels.end(), [&](uint8_t label) { return label >= classes; });
  if (wrong == labels.end()) return absl::OkStatus();
  return BadLabel(file, wrong - labels.begin(),
                  absl::StrCat(*wrong, "; the training labels go up to ", classes - 1));
}

// The first `used` images; the rest is passed over.
absl::StatusOr<std::vector<uint8_t>> ReadImages(IdxFile& file, int64_t used) {
  std::vector<uint8_t> pixels(used * file.sizes[1] * file.sizes[2]);
  RETURN_IF_ERROR(ReadExactly(*file.source, pixels, file.promise, file.bytes));
  RETURN_IF_ERROR(SkipToExactEnd(*file.source, file.promise, file.bytes));
  return pixels;
}

// Checks the whole of every file that it reads. Keeps the labels and, if asked to, the pixels that
// are used.
absl::StatusOr<TrainTest> Read(const proto::Data& data, Samples wanted, bool keep_pixels) {
  ASSIGN_OR_RETURN(auto files, OpenBoth(data.path()));
  auto& [train_files, test_files] = files;
  TrainTest result;
  Dataset &train = result.train, &test = result.test;
  ASSIGN_OR_RETURN(train.labels, ReadLabels(train_files.labels));
  ASSIGN_OR_RETURN(test.labels, ReadLabels(test_files.labels));
  train.shape = ShapeOf(train_files.images);
  ASSIGN_OR_RETURN(train.shape.classes, CountClasses(train_files.labels, train.labels));
  test.shape = train.shape;
  RETURN_IF_ERROR(CheckLabels(test_files.labels, test.labels, test.shape.classes));

  ASSIGN_OR_RETURN(const int64_t train_used,
                   UsedSamples("data.train_limit", data.train_limit(), train.size(),
                               train_files.images.source->path()));
  ASSIGN_OR_RETURN(const int64_t test_used,
                   UsedSamples("data.test_limit", data.test_limit(), test.size(),
                               test_files.images.source->path()));
  train.labels.resize(train_used);
  test.labels.resize(test_used);
  ASSIGN_OR_RETURN(train.pixels, ReadImages(train_files.images, keep_pixels ? train_used : 0));
  if (wanted == Samples::kTrain) {
    test.labels.clear();
    return result;
  }
  ASSIGN_OR_RETURN(test.pixels, ReadImages(test_files.images, keep_pixels ? test_used : 0));
  return result;
}

}  // namespace

absl::StatusOr<TrainTest> ReadIdx(const proto::Data& data, Samples wanted) {
  return Read(data, wanted, /*keep_pixels=*/true);
}

absl::StatusOr<DataSummary> SummarizeIdx(const proto::Data& data) {
  ASSIGN_OR_RETURN(const TrainTest read, Read(data, Samples::kTrainAndTest, /*keep_pixels=*/false));
  return DataSummary{.shape = read.train.shape,
                     .train_samples = read.train.size(),
                     .test_samples = read.test.size()};
}

absl::StatusOr<std::vector<std::string>> IdxFiles(const proto::Data& data) {
  RETURN_IF_ERROR(CheckDataDirectory(data.path()));
  std::vector<std::string> files;
  for (const char* half : {"train", "t10k"}) {
    ASSIGN_OR_RETURN(files.emplace_back(), FindDataFile(data.path(), IdxNames(half, "images", 3)));
    ASSIGN_OR_RETURN(files.emplace_back(), FindDataFile(data.path(), IdxNames(half, "labels", 1)));
  }
  return files;
}

}  // namespace crossover::worker
