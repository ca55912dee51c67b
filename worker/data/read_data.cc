#include "core/status.h"
#include "worker/data/cifar10_reader.h"
#include "worker/data/dataset.h"
#include "worker/data/idx_reader.h"
#include "worker/data/normalization.h"

namespace crossover::worker {

absl::StatusOr<TrainTest> ReadData(const proto::Data& data) {
  ASSIGN_OR_RETURN(TrainTest result,
                   data.format() == proto::Data::cifar10 ? ReadCifar10(data) : ReadIdx(data));
  result.train.normalization = MeasureNormalization(result.train);
  result.test.normalization = result.train.normalization;
  return result;
}

absl::StatusOr<DataSummary> SummarizeData(const proto::Data& data) {
  return data.format() == proto::Data::cifar10 ? SummarizeCifar10(data) : SummarizeIdx(data);
}

}  // namespace crossover::worker
