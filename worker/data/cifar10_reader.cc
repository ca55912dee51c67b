#include "worker/data/cifar10_reader.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/data/byte_source.h"
#include "worker/data/data_files.h"

namespace crossover::worker {
namespace {

constexpr DataShape kShape = {.channels = 3, .height = 32, .width = 32, .classes = 10};
constexpr int64_t kImageBytes = int64_t{3} * 32 * 32;
constexpr int64_t kRecordBytes = 1 + kImageBytes;

struct RecordFile {
  std::unique_ptr<ByteSource> source;
  int64_t records = 0;
};

struct Files {
  std::string directory;
  std::vector<RecordFile> train;
  std::vector<RecordFile> test;
};

absl::StatusOr<RecordFile> OpenRecords(const std::string& directory, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string path, FindDataFile(directory, std::span(&name, 1)));
  RecordFile file;
  ASSIGN_OR_RETURN(file.source, OpenByteSource(path));
  const int64_t bytes = file.source->size_max();
  file.records = bytes / kRecordBytes;
  if (file.records == 0 || bytes % kRecordBytes != 0) {
    return absl::DataLossError(
        absl::StrCat(path, ": ends at byte ", bytes, ", inside record ", file.records,
                     " that starts at byte ", file.records * kRecordBytes,
                     "; expected a multiple of ", kRecordBytes, " bytes, at least one record"));
  }
  return file;
}

int64_t CountRecords(const std::vector<RecordFile>& files) {
  int64_t records = 0;
  for (const RecordFile& file : files) records += file.records;
  return records;
}

absl::StatusOr<Files> OpenFiles(const std::string& path) {
  RETURN_IF_ERROR(CheckDataDirectory(path));
  Files files;
  files.directory = path;
  const std::filesystem::path folder = std::filesystem::path(path) / "cifar-10-batches-bin";
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) files.directory = folder.string();
  for (int i = 1; i <= 5; ++i) {
    ASSIGN_OR_RETURN(RecordFile file,
                     OpenRecords(files.directory, absl::StrCat("data_batch_", i, ".bin")));
    files.train.push_back(std::move(file));
  }
  ASSIGN_OR_RETURN(RecordFile file, OpenRecords(files.directory, "test_batch.bin"));
  files.test.push_back(std::move(file));
  for (const std::vector<RecordFile>* half : {&files.train, &files.test}) {
    if (CountRecords(*half) * kImageBytes <= kPixelBytesMax) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat(half->front().source->path(), " and the files of its kind hold ",
                     CountRecords(*half), " records; allowed: ", kPixelBytesMax / kImageBytes));
  }
  return files;
}

// Reads every record (so that damage is found wherever it is), keeps the first `used`.
absl::StatusOr<Dataset> ReadRecords(std::vector<RecordFile>& files, int64_t used) {
  Dataset dataset;
  dataset.shape = kShape;
  dataset.labels.reserve(used);
  dataset.pixels.reserve(used * kImageBytes);
  std::vector<uint8_t> record(kRecordBytes);
  for (RecordFile& file : files) {
    for (int64_t i = 0; i < file.records; ++i) {
      RETURN_IF_ERROR(ReadExactly(*file.source, record,
                                  absl::StrCat("it had ", file.records, " records when opened"),
                                  file.records * kRecordBytes));
      if (record[0] >= kShape.classes) {
        return absl::DataLossError(absl::StrCat(file.source->path(), ": byte ", i * kRecordBytes,
                                                ": label ", record[0], " of record ", i,
                                                "; allowed: 0 to ", kShape.classes - 1));
      }
      if (dataset.size() == used) continue;
      dataset.labels.push_back(record[0]);
      dataset.pixels.insert(dataset.pixels.end(), record.begin() + 1, record.end());
    }
  }
  return dataset;
}

absl::StatusOr<DataSummary> Summarize(const proto::Data& data, const Files& files) {
  DataSummary summary;
  summary.shape = kShape;
  ASSIGN_OR_RETURN(summary.train_samples, UsedSamples("data.train_limit", data.train_limit(),
                                                      CountRecords(files.train), files.directory));
  ASSIGN_OR_RETURN(summary.test_samples, UsedSamples("data.test_limit", data.test_limit(),
                                                     CountRecords(files.test), files.directory));
  return summary;
}

}  // namespace

absl::StatusOr<TrainTest> ReadCifar10(const proto::Data& data, Samples wanted) {
  ASSIGN_OR_RETURN(Files files, OpenFiles(data.path()));
  ASSIGN_OR_RETURN(const DataSummary summary, Summarize(data, files));
  TrainTest result;
  ASSIGN_OR_RETURN(result.train, ReadRecords(files.train, summary.train_samples));
  if (wanted == Samples::kTrain) return result;
  ASSIGN_OR_RETURN(result.test, ReadRecords(files.test, summary.test_samples));
  return result;
}

absl::StatusOr<DataSummary> SummarizeCifar10(const proto::Data& data) {
  ASSIGN_OR_RETURN(Files files, OpenFiles(data.path()));
  ASSIGN_OR_RETURN(const DataSummary summary, Summarize(data, files));
  RETURN_IF_ERROR(ReadRecords(files.train, 0).status());
  RETURN_IF_ERROR(ReadRecords(files.test, 0).status());
  return summary;
}

absl::StatusOr<std::vector<std::string>> Cifar10Files(const proto::Data& data) {
  ASSIGN_OR_RETURN(const Files opened, OpenFiles(data.path()));
  std::vector<std::string> files;
  for (const std::vector<RecordFile>* half : {&opened.train, &opened.test}) {
    for (const RecordFile& file : *half) files.push_back(file.source->path());
  }
  return files;
}

}  // namespace crossover::worker
