// The result of one run (one strategy, one repetition): what a line of
// results.jsonl holds. Every report is made from these lines alone, so that it
// can be made again later. Each figure's formula and what it does not say:
// docs/METRICS.md.
//
// Plain values. The unit is the last word of a name; *_ms of a step are means
// over ranks and measured steps unless the name says median or p95, so that they
// add up. An empty optional is null in JSON: the figure does not exist for the run
// (no evaluation, target not reached).
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_RESULT_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_RESULT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace crossover::experiments {

// Where a run took place. Filled by the launcher; "" and 0 are unknown.
struct Environment {
  std::string cpu_model;
  int64_t cores = 0;  // that the run's processes may use together
  int64_t memory_bytes = 0;
  std::string kernel;
  std::string hostname;
  std::string compiler;
  std::string git_commit;
  bool git_dirty = false;
  std::string blas_library;                     // as worker 0 found it loaded
  std::string congestion_control;               // of worker 0's sockets
  std::map<std::string, std::string> versions;  // "gRPC" -> "1.51.1"
};

// What the probe found at one node (a machine, or one of the network lab) before the
// runs, all nodes at once in both directions.
struct ProbedNode {
  std::string name;  // "worker0"
  double send_bytes_per_s = 0;
  double receive_bytes_per_s = 0;
  double promised_bytes_per_s = 0;  // of TCP payload; 0: nothing was promised
  double rtt_us = 0;                // to the next node, idle, median
  // Of a host: its time of day less the launcher's, and by how much at most that is wrong
  // (half the shortest round trip). No figure depends on it.
  std::optional<double> clock_offset_s = {};
  std::optional<double> clock_error_s = {};
};

// What the processes' messages went over. Scaled figures (Scales) are those that were
// emulated, so that they stand beside the scaled figures of the steps.
struct Network {
  std::string interface;  // name or address
  bool loopback = true;
  std::string kind;     // "loopback", "lab: kernel qdiscs", "lab: user-space switch", "hosts"
  std::string shaping;  // rate and delay imposed on it; "" if none
  std::string congestion_control;
  std::string placement;  // "dedicated", "colocated"; "" if the servers share one machine
  std::vector<ProbedNode> probe;
};

// By how much an emulated run was slowed and shrunk. Every figure of a result has been
// scaled back already.
struct Scales {
  double time = 1;
  double bytes = 1;
};

// One learning rate tried in the search before the measured runs.
struct TuneTrial {
  double learning_rate = 0;
  // On held-out training samples; none if it diverged or failed.
  std::optional<double> validation_accuracy;
  double loss = 0;  // last training loss
};

struct Tuning {
  std::string budget;  // "5 rates from 0.0125 to 0.8, 241 steps each, seed 1"
  std::vector<TuneTrial> trials;
  double chosen_learning_rate = 0;
};

// A stretch of the gradients (parameters, for local steps) that is exchanged as one.
struct BucketFigures {
  int64_t bytes = 0;
  // Part of a step's compute that was done when its exchange began: median over ranks and
  // measured steps.
  double ready_share = 1;
  // Of a collective: what its AllReduce went by (proto/job.proto's names, or shared_memory); ""
  // where nobody said.
  std::string algorithm = {};
};

struct StalenessFigures {
  std::vector<int64_t> histogram;  // part pushes by staleness; the last also counts above
  double mean = 0;                 // from the histogram; a lower bound if max >= its size
  int64_t max = 0;
};

struct WorkerFigures {
  int64_t rank = 0;
  std::string host;
  double samples_per_second = 0;  // its own samples over its own measured time
  double step_ms_median = 0;
  double compute_ms_median = 0;
  double exposed_ms_median = 0;
  double wait_ms_median = 0;
  int64_t held_replies = 0;  // part replies, over all servers
  double held_ms = 0;        // time for which its steps were held, all steps together
};

struct ServerFigures {
  int64_t rank = 0;
  std::string host;
  int64_t parameter_bytes = 0;
  int64_t state_bytes = 0;
  double apply_ms_per_step = 0;
  int64_t pushes = 0;
  int64_t payload_received_bytes = 0;
  int64_t payload_sent_bytes = 0;
  int64_t wire_received_bytes = 0;
  int64_t wire_sent_bytes = 0;
};

struct ProcessFigures {
  std::string name;  // "worker 0"
  std::string host;
  int64_t peak_rss_bytes = 0;
  double cpu_s = 0;
};

// The rank the others waited for most.
struct StragglerFigures {
  int64_t rank = 0;
  // Steps in which it was the last; empty for strategies without a barrier, where
  // it is the rank with the lowest samples_per_second.
  std::optional<double> share_of_steps;
  double excess_ms = 0;             // over the median of the others
  std::string phase;                // "compute", "data", "previous communication", "none"
  bool within_clock_error = false;  // the excess is no larger than the clocks' error
};

struct LossPoint {
  int64_t step = 0;
  double time_s = 0;
  int64_t samples = 0;
  double loss = 0;  // NaN where the loss was not finite (null in JSON)
};

struct AccuracyPoint {
  int64_t step = 0;
  double time_s = 0;
  int64_t samples = 0;
  double accuracy = 0;
  double loss = 0;
};

struct PictureSpan {
  int64_t rank = 0;
  std::string kind;     // "compute", "push", ...
  int64_t op = -1;      // bucket of a communication span
  double start_ms = 0;  // since the step's first start over ranks, aligned
  double end_ms = 0;
};

// The spans of one ordinary step of all ranks.
struct StepPicture {
  int64_t step = -1;  // -1: none was kept
  double duration_ms = 0;
  std::vector<PictureSpan> spans;
};

// A mean step taken apart without overlaps: the parts add up to step_ms_mean.
struct Breakdown {
  double compute_ms = 0;
  double exposed_transfer_ms = 0;
  double exposed_wait_ms = 0;
  double data_ms = 0;   // outside compute and communication
  double apply_ms = 0;  // outside compute, communication and data
  double other_ms = 0;  // covered by no span
};

struct RunResult {
  std::string job_name;
  std::string model;
  std::string strategy;
  int64_t workers = 0;  // processes that took part
  int64_t servers = 0;
  int64_t shards = 0;  // parts of the global batch: workers of the job
  // Machines that took part, servers' own included: what equal resources are counted by.
  // Nodes of the network lab or hosts; on loopback the one machine.
  int64_t nodes = 1;
  int64_t repetition = 0;
  std::string failure;  // "" if the run succeeded; else why not, and no figures

  std::string start_time;  // ISO 8601
  double wall_s = 0;       // start to end of all processes
  double training_s = 0;   // first start to last end of the training loops
  std::string rerun_command;
  std::string resolved_job;     // textproto, defaults written out
  std::string job_fingerprint;  // 16 hexadecimal digits
  Environment environment;
  Network network;
  Scales scales;
  std::optional<Tuning> tuning;
  int64_t planned_runs = 0;  // of the comparison under this job; 0: unknown
  // When the comparison was taken up again after which this run was made, ISO 8601; "" if
  // it had not been interrupted by then.
  std::string resume_time;
  std::vector<std::string> notes;  // what a reader must know of this run's figures

  int64_t steps = 0;
  int64_t warmup_steps_left_out = 0;
  double samples_per_second = 0;
  double step_ms_mean = 0;
  double step_ms_median = 0;
  double step_ms_p95 = 0;
  double communication_share = 0;
  double overlap = 0;   // hidden / communication, 0 without communication
  double coverage = 0;  // part of the step's time that some span covers
  double compute_ms = 0;
  double communication_ms = 0;
  double hidden_ms = 0;
  double exposed_ms = 0;
  double wait_ms = 0;
  double transfer_ms = 0;
  double data_ms = 0;
  double apply_ms = 0;
  double other_ms = 0;
  Breakdown breakdown;

  int64_t synchronisations = 0;  // of one worker
  int64_t model_bytes = 0;
  std::vector<BucketFigures> buckets;  // in the order in which they are ready
  // Of a worker and a synchronised step: payload, what the formula says, the wire.
  double bytes_sent_per_step = 0;
  double bytes_received_per_step = 0;
  double bytes_formula_per_step = 0;  // each way
  double wire_bytes_sent_per_step = 0;
  double wire_bytes_received_per_step = 0;
  std::optional<double> bytes_to_target;  // payload sent by all workers until the target

  StalenessFigures staleness;
  int64_t lead_steps_max = 0;
  int64_t late_pushes = 0;  // of parts, dropped since their step had closed
  double learning_rate_peak = 0;
  // Optimizer updates that one global batch makes; and the rate of one at the peak, corrected as
  // servers corrected it on the mean, times that.
  int64_t updates_per_global_batch = 1;
  double effective_learning_rate = 0;

  std::optional<double> test_accuracy;
  std::optional<double> test_loss;
  double target_accuracy = 0;
  std::optional<double> time_to_target_s;
  double machine_seconds = 0;  // of the training
  std::optional<double> machine_seconds_to_target;

  int64_t peak_rss_bytes = 0;  // of the largest process
  double shard_imbalance = 1;  // largest server's parameters over the mean
  double clock_error_ms = 0;
  std::string parameter_fingerprint;  // rank 0's, hexadecimal
  double parameter_norm = 0;
  bool parameters_equal = true;  // on all workers

  std::optional<StragglerFigures> straggler;
  std::vector<WorkerFigures> worker_figures;
  std::vector<ServerFigures> server_figures;
  std::vector<ProcessFigures> processes;
  std::vector<LossPoint> loss_curve;  // at most kCurvePoints
  std::vector<AccuracyPoint> accuracy_curve;
  StepPicture step_picture;

  bool ok() const { return failure.empty(); }
};

inline constexpr int kCurvePoints = 200;

// One line of JSON, without the newline. Bytes that are not UTF-8 are replaced.
std::string ToJsonLine(const RunResult& result);

// Reads results.jsonl. Blank lines are skipped and fields that this version does
// not know are ignored. Errors: "results line N: field 'x': found ..., expected ...".
absl::StatusOr<std::vector<RunResult>> ParseResults(std::string_view jsonl);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_RESULT_H_
