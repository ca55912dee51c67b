// What a worker writes down at its end.
#ifndef CROSSOVER_WORKER_WORKER_REPORT_H_
#define CROSSOVER_WORKER_WORKER_REPORT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/job.h"
#include "core/strategy.h"
#include "core/timeline.h"
#include "net/rendezvous_client.h"
#include "net/wire_bytes.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "worker/trainer.h"

namespace crossover::worker {

// The few steps in the middle of the training whose spans are kept whole.
std::vector<int64_t> PicturedSteps(const proto::Job& job, const StepPlan& plan);

struct WorkerReportInputs {
  int rank = 0;
  std::string data_address;
  net::ClockOffset clock_offset;
  const Timeline& timeline;
  const TrainingResult& training;
  const std::vector<proto::Evaluation>& evaluations;
  StrategyCounters counters;
  net::WireBytes wire_before;
  net::WireBytes wire_after;
  std::span<const float> parameters;
  std::string blas_library;
};

// Writes a serialised proto::ProcessReport. Errors name the file.
absl::Status WriteWorkerReport(const WorkerReportInputs& inputs, const std::string& path);

// Writes raw little-endian fp32 values. Errors name the file.
absl::Status WriteParameters(std::span<const float> parameters, const std::string& path);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_WORKER_REPORT_H_
