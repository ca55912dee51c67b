// CIFAR-10's binary version (cs.toronto.edu/~kriz/cifar.html): data_batch_1.bin to
// data_batch_5.bin and test_batch.bin in the directory, or in its folder
// cifar-10-batches-bin. A file is records of 3073 bytes without a header: a label
// 0..9, then 32x32 red, green and blue values, by rows. The originals hold 10000
// records each; any number from 1 is accepted.
#ifndef CROSSOVER_WORKER_DATA_CIFAR10_READER_H_
#define CROSSOVER_WORKER_DATA_CIFAR10_READER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"

namespace crossover::worker {

// As ReadData and SummarizeData; the normalization is left empty.
absl::StatusOr<TrainTest> ReadCifar10(const proto::Data& data,
                                      Samples wanted = Samples::kTrainAndTest);
absl::StatusOr<DataSummary> SummarizeCifar10(const proto::Data& data);
absl::StatusOr<std::vector<std::string>> Cifar10Files(const proto::Data& data);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_CIFAR10_READER_H_
