#include "experiments/report/report_metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/check.h"

namespace crossover::experiments {
namespace {

using MaybeDouble = std::optional<double>;

// A plain field of a result, or an optional one.
template <auto field>
MaybeDouble Of(const RunResult& run) {
  if constexpr (requires { (run.*field).has_value(); }) {
    return run.*field;
  } else {
    return static_cast<double>(run.*field);
  }
}

template <auto field>
MaybeDouble OfBreakdown(const RunResult& run) {
  return run.breakdown.*field;
}

template <auto field>
MaybeDouble OfStaleness(const RunResult& run) {
  if (run.servers == 0) return std::nullopt;
  return static_cast<double>(run.staleness.*field);
}

MaybeDouble SentOverFormula(const RunResult& run) {
  if (run.bytes_formula_per_step <= 0) return std::nullopt;
  return run.bytes_sent_per_step / run.bytes_formula_per_step;
}

MaybeDouble BusiestServer(const RunResult& run) {
  if (run.server_figures.empty()) return std::nullopt;
  double busiest_ms = 0;
  for (const ServerFigures& server : run.server_figures) {
    busiest_ms = std::max(busiest_ms, server.apply_ms_per_step);
  }
  return busiest_ms;
}

MaybeDouble ShardImbalance(const RunResult& run) {
  if (run.server_figures.empty()) return std::nullopt;
  return run.shard_imbalance;
}

using R = RunResult;

constexpr Metric kMetrics[] = {
    // Speed.
    {"samples_per_second", "Samples/s",
     "Samples of all workers in the steps after the warm-up, over the time from the first "
     "worker's start to the last one's end.",
     Of<&R::samples_per_second>, FormatNumber},
    {"speed_up", "x single",
     "Median samples/s over the median samples/s of single, one process that computes all "
     "workers' shards in turn.",
     nullptr, FormatNumber},
    {"paired_difference", "Paired difference",
     "Median, over the repetitions that both strategies have, of this strategy's samples/s less "
     "the reference's in the same repetition. Where its interval or range holds 0 the two tie.",
     nullptr, FormatNumber},
    {"step_ms_median", "Step median ms", "Median length of a step, over ranks and measured steps.",
     Of<&R::step_ms_median>, FormatNumber},
    {"step_ms_p95", "Step p95 ms",
     "The length that 95% of the steps do not exceed (nearest rank), over ranks and measured "
     "steps.",
     Of<&R::step_ms_p95>, FormatNumber},
    {"step_ms_mean", "Step mean ms",
     "Mean length of a step, over ranks and measured steps. In asynchronous strategies the other "
     "workers make steps of their own meanwhile.",
     Of<&R::step_ms_mean>, FormatNumber},
    {"predicted_step_ms", "Predicted step ms",
     "The mean step that the published cost formulas expect from the probed link, the single run's "
     "compute and the buckets; worked out by the reader, median over repetitions.",
     nullptr, FormatNumber},
    {"predicted_share", "Predicted share",
     "The communication share that goes with predicted_step_ms: exposed communication over step "
     "time.",
     nullptr, FormatPercent},
    {"communication_share", "Communication share",
     "Exposed communication over step time: the part of the training in which a worker only "
     "communicates, waiting included.",
     Of<&R::communication_share>, FormatPercent},
    {"overlap", "Overlap",
     "Communication that ran beneath compute (hidden), over all communication.", Of<&R::overlap>,
     FormatPercent},
    {"communication_ms", "Communication ms",
     "Time of a mean step in which something was pushed, pulled or reduced, as a union of "
     "intervals.",
     Of<&R::communication_ms>, FormatNumber},
    {"hidden_ms", "Hidden ms", "Communication beneath compute, per mean step; it costs no time.",
     Of<&R::hidden_ms>, FormatNumber},
    {"exposed_ms", "Exposed ms", "Communication outside compute, per mean step.",
     Of<&R::exposed_ms>, FormatNumber},
    {"wait_ms", "Wait ms",
     "Part of communication, hidden or not, until the last rank had started the same operation "
     "(or until a staleness bound let go).",
     Of<&R::wait_ms>, FormatNumber},
    {"transfer_ms", "Transfer ms", "Communication without the wait, hidden or not.",
     Of<&R::transfer_ms>, FormatNumber},
    {"coverage", "Accounted for",
     "Part of the step's time that some recorded span covers; the rest is shown as not accounted "
     "for.",
     Of<&R::coverage>, FormatPercent},
    // The mean step of one run, taken apart.
    {"breakdown.data_ms", "Data ms", "Reading the batch, outside compute and communication.",
     OfBreakdown<&Breakdown::data_ms>, FormatNumber},
    {"breakdown.compute_ms", "Compute ms", "Forward and backward, communication beneath included.",
     OfBreakdown<&Breakdown::compute_ms>, FormatNumber},
    {"breakdown.exposed_transfer_ms", "Exposed transfer ms",
     "Communication outside compute in which all ranks took part: bytes were moving.",
     OfBreakdown<&Breakdown::exposed_transfer_ms>, FormatNumber},
    {"breakdown.exposed_wait_ms", "Exposed wait ms",
     "Communication outside compute in which another rank had not yet started: nothing could move.",
     OfBreakdown<&Breakdown::exposed_wait_ms>, FormatNumber},
    {"breakdown.apply_ms", "Apply ms",
     "The worker's own optimizer, outside compute, communication and data. Servers apply within "
     "what workers see as transfer.",
     OfBreakdown<&Breakdown::apply_ms>, FormatNumber},
    {"breakdown.other_ms", "Not accounted for ms", "Time of the step that no span covers.",
     OfBreakdown<&Breakdown::other_ms>, FormatNumber},
    // Learning.
    {"test_accuracy", "Test accuracy",
     "Share of the test set that rank 0's parameters classify rightly at the end; the last "
     "snapshot, not the best.",
     Of<&R::test_accuracy>, FormatAccuracy},
    {"test_loss", "Test loss", "Mean cross-entropy of the test set at the end.", Of<&R::test_loss>,
     FormatNumber},
    {"time_to_target_s", "Time to target s",
     "Training time until the first snapshot at the target accuracy; snapshots are evaluated off "
     "the clock and are as fine as an epoch by default.",
     Of<&R::time_to_target_s>, FormatNumber},
    {"updates_per_global_batch", "Updates a global batch",
     "Optimizer updates that the samples of one global batch make: 1 where gradients are averaged, "
     "one for each worker or group where each push is applied.",
     Of<&R::updates_per_global_batch>, FormatCount},
    {"effective_learning_rate", "Effective learning rate",
     "Peak rate of one update, lowered as the servers did for staleness on the mean, times the "
     "updates a global batch: what a synchronous run would need to move as far, to first order.",
     Of<&R::effective_learning_rate>, FormatNumber},
    {"loss_curve", "Training loss",
     "Mean over a window of steps of all workers (at most 200 windows a run), before each update; "
     "every window is drawn, none is smoothed.",
     nullptr, FormatNumber},
    {"accuracy_curve", "Accuracy along the way",
     "Test accuracy of rank 0's snapshots, evaluated off the clock.", nullptr, FormatAccuracy},
    // Staleness.
    {"staleness.mean", "Mean staleness",
     "Versions applied on a shard between the pull that a push was computed from and its apply; "
     "mean over part pushes and servers.",
     OfStaleness<&StalenessFigures::mean>, FormatNumber},
    {"staleness.max", "Largest staleness", "The largest staleness of any part push.",
     OfStaleness<&StalenessFigures::max>, FormatCount},
    {"staleness.histogram", "Pushes by staleness",
     "Part pushes that were applied with this staleness, over all part pushes of the run; the last "
     "slot also counts what lies above.",
     nullptr, FormatPercent},
    {"lead_steps_max", "Largest lead, steps",
     "Steps of the fastest worker ahead of the slowest when a server's reply left.",
     Of<&R::lead_steps_max>, FormatCount},
    {"late_pushes", "Late pushes",
     "Part pushes that came after their step had closed and changed nothing, over all servers.",
     Of<&R::late_pushes>, FormatCount},
    // Ranks.
    {"worker_figures.samples_per_second", "Worker's samples/s",
     "The worker's own samples over its own measured time.", nullptr, FormatNumber},
    {"worker_figures.step_ms_median", "Worker's step ms", "Median over its measured steps.",
     nullptr, FormatNumber},
    {"worker_figures.compute_ms_median", "Worker's compute ms", "Median over its measured steps.",
     nullptr, FormatNumber},
    {"worker_figures.exposed_ms_median", "Worker's exposed ms",
     "Communication outside compute; median over its measured steps.", nullptr, FormatNumber},
    {"worker_figures.wait_ms_median", "Worker's wait ms",
     "Communication until the last rank had started, hidden or not; median over its measured "
     "steps.",
     nullptr, FormatNumber},
    {"worker_figures.held_replies", "Replies held",
     "Part replies to this worker that a staleness bound held back, over all servers.", nullptr,
     FormatCount},
    {"worker_figures.held_ms", "Held ms",
     "Time for which this worker's steps were held, all steps together.", nullptr, FormatNumber},
    {"straggler.rank", "Straggler",
     "The rank that was most often the last to start a step's operation; without a barrier, the "
     "rank with the lowest samples/s.",
     nullptr, FormatCount},
    {"straggler.share_of_steps", "Last in",
     "Share of the measured steps in which it was the last; by chance about 1 in N.", nullptr,
     FormatPercent},
    {"straggler.excess_ms", "Behind by ms",
     "Its mean delay behind the median of the others in those steps; below the clocks' error it "
     "says nothing.",
     nullptr, FormatNumber},
    {"server_figures.parameter_bytes", "Server's parameters", "Bytes of the model that it holds.",
     nullptr, FormatBytes},
    {"server_figures.state_bytes", "Server's state", "Optimizer state.", nullptr, FormatBytes},
    {"server_figures.apply_ms_per_step", "Server's apply ms/step",
     "Summing and optimizer over all its threads, over steps of a worker.", nullptr, FormatNumber},
    {"server_figures.pushes", "Server's pushes", "Part pushes that it applied.", nullptr,
     FormatCount},
    // Bytes.
    {"synchronisations", "Synchronisations", "Steps at whose end values were exchanged.",
     Of<&R::synchronisations>, FormatCount},
    {"bytes_formula_per_step", "Formula, each way",
     "What a worker should send in a synchronised step: the model's bytes M to servers, M/2 where "
     "halves travel (`ps.wire`); in a "
     "collective of N what its algorithm's closed form says, 2(N-1)/N M in a ring.",
     Of<&R::bytes_formula_per_step>, FormatBytes},
    {"bytes_sent_per_step", "Sent",
     "Payload of a mean worker in a synchronised step by its own ledger, headers apart.",
     Of<&R::bytes_sent_per_step>, FormatBytes},
    {"bytes_received_per_step", "Received",
     "Payload of a mean worker in a synchronised step by its own ledger, headers apart.",
     Of<&R::bytes_received_per_step>, FormatBytes},
    {"sent_over_formula", "Sent / formula",
     "bytes_sent_per_step over bytes_formula_per_step; 1 where ledger and formula agree.",
     SentOverFormula, FormatNumber},
    {"wire_bytes_sent_per_step", "Sent on the wire",
     "The same as the kernel counts it: our headers, gRPC's framing and retransmissions included, "
     "TCP/IP headers and what Unix sockets carry not.",
     Of<&R::wire_bytes_sent_per_step>, FormatBytes},
    {"wire_bytes_received_per_step", "Received on the wire",
     "The same as the kernel counts it: our headers, gRPC's framing and retransmissions included, "
     "TCP/IP headers and what Unix sockets carry not.",
     Of<&R::wire_bytes_received_per_step>, FormatBytes},
    {"bytes_to_target", "Bytes to target",
     "Payload that all workers had sent when the target accuracy was reached; an estimate where "
     "the "
     "rate of exchange is uneven.",
     Of<&R::bytes_to_target>, FormatBytes},
    // Resources and cost.
    {"nodes", "Nodes",
     "Different machines, or nodes of the network lab, that the processes occupied; 1 on loopback.",
     Of<&R::nodes>, FormatCount},
    {"workers", "Workers", "Worker processes.", Of<&R::workers>, FormatCount},
    {"servers", "Servers", "Server processes.", Of<&R::servers>, FormatCount},
    {"training_s", "Training s",
     "First start to last end of the training loops, warm-up included; loading and evaluation "
     "excluded.",
     Of<&R::training_s>, FormatNumber},
    {"wall_s", "Wall s", "Start to end of all processes, loading and evaluation included.",
     Of<&R::wall_s>, FormatNumber},
    {"machine_seconds", "Machine-seconds",
     "Training time times the nodes; on loopback, times the processes, servers included, as if "
     "each "
     "had a machine and network card of its own.",
     Of<&R::machine_seconds>, FormatNumber},
    {"machine_seconds_to_target", "Machine-seconds to target",
     "Time to the target accuracy times the nodes, or on loopback the processes, servers included.",
     Of<&R::machine_seconds_to_target>, FormatNumber},
    {"peak_rss_bytes", "Peak memory", "Largest resident set of any process.",
     Of<&R::peak_rss_bytes>, FormatBytes},
    {"busiest_server_apply_ms", "Server apply ms/step",
     "The largest server_figures.apply_ms_per_step: summing and optimizer of the busiest server.",
     BusiestServer, FormatNumber},
    {"shard_imbalance", "Shard imbalance",
     "The largest server's parameters over the mean of all servers; 1 is even.", ShardImbalance,
     FormatNumber},
    {"clock_error_ms", "Clock error ms",
     "Largest error bound of any process's clock; differences between ranks below it say nothing.",
     Of<&R::clock_error_ms>, FormatNumber},
};

}  // namespace

std::span<const Metric> Metrics() { return kMetrics; }

const Metric& MetricOf(std::string_view key) {
  const auto found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                  [&](const Metric& metric) { return metric.key == key; });
  CROSSOVER_CHECK(found != std::end(kMetrics), "each key that a section names is in the table");
  return *found;
}

std::string MetricsGlossary() {
  std::string out;
  for (const Metric& metric : kMetrics) {
    absl::StrAppend(&out, "| `", metric.key, "` | ", metric.name, " | ", metric.definition, " |\n");
  }
  return out;
}

}  // namespace crossover::experiments
