// A run's chosen steps as Chrome trace events (the JSON object format with "traceEvents"),
// which Perfetto and chrome://tracing open: the first measured step, an ordinary one, the
// slowest of those that were kept, and the last, over all processes on one clock.
//
//   pid   rank of a worker; workers + rank of a server
//   tid   a lane: step, compute, data, apply, communication
//   X     a span that overlaps with nothing in its lane
//   b, e  a bucket's push, pull or reduce, and all of a server's spans (async events with ids of
//         their own): these overlap
//   ts    microseconds since the first start of the training loops
//
// Format: "Trace Event Format" (Google, 2016). Spans come from reports that other processes
// wrote: what does not fit (an unknown kind, a time out of range, an end before its start) is
// left out. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_TRACE_H_
#define CROSSOVER_EXPERIMENTS_REPORT_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/results/run_reports.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"

namespace crossover::experiments {

// A larger file is slow to open. Where the chosen steps have more spans, every second (fourth,
// ...) span of each kind, step and process is shown, and the trace says so.
inline constexpr size_t kTraceBytes = 10'000'000;

struct ChosenStep {
  int64_t step = 0;
  std::string why;  // "first measured", "ordinary", "slowest", "last"; joined if several
};
// By step. Ordinary: of the steps that every rank kept, the one whose longest length over ranks
// is nearest to the median of all measured ones.
std::vector<ChosenStep> ChooseSteps(const AlignedRun& run);

// Errors: those of AlignReports.
absl::StatusOr<std::string> TraceJson(const proto::Job& job,
                                      std::span<const proto::ProcessReport> reports,
                                      size_t limit_bytes = kTraceBytes);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_TRACE_H_
