// Data sets in MNIST's IDX format (yann.lecun.com/exdb/mnist): four files in one
// directory, {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, also
// with a dot before "idx", each plain or with .gz after its name. Where a name exists
// in several of these forms, plain goes before gzip and the dash before the dot.
//
// Layout, big-endian: 0 0 8 (unsigned bytes) D (dimensions), D sizes of four bytes, then
// the bytes, the last dimension fastest. Classes are 0..(largest training label), at
// least two of them: the format does not name their number. Between the smallest (0 or 1)
// and the largest training label every one must occur.
//
// The whole of every file is checked, also where a limit uses a part of it.
#ifndef CROSSOVER_WORKER_DATA_IDX_READER_H_
#define CROSSOVER_WORKER_DATA_IDX_READER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"

namespace crossover::worker {

// As ReadData and SummarizeData; the normalization is left empty.
absl::StatusOr<TrainTest> ReadIdx(const proto::Data& data, Samples wanted = Samples::kTrainAndTest);
absl::StatusOr<DataSummary> SummarizeIdx(const proto::Data& data);
absl::StatusOr<std::vector<std::string>> IdxFiles(const proto::Data& data);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_IDX_READER_H_
