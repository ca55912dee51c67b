// What a worker writes down at its end. Functions block for the writing of a file; one thread at a
// time has what they are given.
#ifndef CROSSOVER_WORKER_WORKER_REPORT_H_
#define CROSSOVER_WORKER_WORKER_REPORT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/bucket_plan.h"
#include "core/job.h"
#include "core/strategy.h"
#include "core/timeline.h"
#include "net/rendezvous_client.h"
#include "net/wire_bytes.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "worker/trainer.h"

namespace crossover::worker {

// Chooses whose spans the timeline keeps: KeptSteps and the four slowest. With at most 38 steps
// of 4,096 spans each a report stays below 10 MB.
void KeepSpansForReport(const proto::Job& job, const StepPlan& plan, Timeline& timeline);

struct WorkerReportInputs {
  int rank = 0;
  std::string data_address;
  net::ClockOffset clock_offset;
  const Timeline& timeline;
  const proto::Job& job;
  const StepPlan& plan;
  const BucketPlan& buckets;
  const TrainingResult& training;
  const std::vector<proto::Evaluation>& evaluations;
  StrategyCounters counters;
  net::WireBytes wire_before;
  net::WireBytes wire_after;
  const std::vector<proto::AllReduceRange>& all_reduces;
  std::string divergence;  // why the training was stopped; "" where it was not
  std::span<const float> parameters;
  std::string blas_library;
  int torch_threads = 0;  // 0: it computed nothing with LibTorch
};

// Writes a serialised proto::ProcessReport. Errors name the file.
absl::Status WriteWorkerReport(const WorkerReportInputs& inputs, const std::string& path);

// Writes raw little-endian fp32 values. Errors name the file.
absl::Status WriteParameters(std::span<const float> parameters, const std::string& path);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_WORKER_REPORT_H_
