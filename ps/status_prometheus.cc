#include "ps/status_prometheus.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace crossover::ps {
namespace {

using proto::ServerReport;
using proto::ServerStatus;
using proto::WorkerStatus;

// Upper bounds of the staleness histogram's buckets; the last slot of the report's counts that and
// above, so all of these are below it.
constexpr std::array<int64_t, 9> kStalenessBounds = {0, 1, 2, 3, 4, 8, 16, 32, 48};

double OfNs(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

class Exposition {
 public:
  using Labels = std::vector<std::pair<const char*, std::string>>;

  explicit Exposition(const ServerStatus& status)
      : common_({{"job_name", status.job()}, {"server", absl::StrCat(status.rank())}}) {}

  // Its samples follow.
  void Begin(const char* name, const char* type, const char* help) {
    name_ = absl::StrCat("crossover_ps_", name);
    absl::StrAppend(&text_, "# HELP ", name_, " ", help, "\n# TYPE ", name_, " ", type, "\n");
  }
  void Add(double value, const Labels& labels = {}, const char* suffix = "") {
    Labels all = common_;
    all.insert(all.end(), labels.begin(), labels.end());
    absl::StrAppend(&text_, name_, suffix, "{");
    for (size_t i = 0; i < all.size(); ++i) {
      absl::StrAppend(
          &text_, i == 0 ? "" : ",", all[i].first, "=\"",
          absl::StrReplaceAll(all[i].second, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
          "\"");
    }
    // Enough digits for every count.
    absl::StrAppendFormat(&text_, "} %.16g\n", value);
  }
  void Single(const char* name, const char* type, const char* help, double value) {
    Begin(name, type, help);
    Add(value);
  }
  std::string text() const { return text_; }

 private:
  const Labels common_;
  std::string name_;
  std::string text_;
};

Exposition::Labels Of(int worker) { return {{"worker", absl::StrCat(worker)}}; }

void AddServer(const ServerStatus& status, Exposition& out) {
  out.Begin("info", "gauge", "The server's job and process; the value is always 1.");
  out.Add(1, {{"strategy", status.strategy()},
              {"job_fingerprint", absl::StrFormat("%016x", status.job_fingerprint())},
              {"address", status.address()},
              {"host", status.host()}});
  out.Single("uptime_seconds", "gauge", "Time since the server's start.", status.uptime_s());
  out.Single("processor_seconds_total", "counter", "Processor time of the process.",
             status.cpu_s());
  out.Single("step", "gauge", "Latest step of any worker's push; -1 before the first.",
             static_cast<double>(status.step()));
  out.Single("steps_planned", "gauge", "Steps of the run; 0 before a worker's plan.",
             static_cast<double>(status.total_steps()));
  out.Single("parts", "gauge", "Parts that this server owns.", static_cast<double>(status.parts()));
  out.Begin("version", "gauge", "Updates applied to the part with the fewest, and the most.");
  out.Add(static_cast<double>(status.version_lowest()), {{"part", "lowest"}});
  out.Add(static_cast<double>(status.version_highest()), {{"part", "highest"}});

  const ServerReport& totals = status.totals();
  out.Single("pushes_total", "counter", "Part pushes taken.", static_cast<double>(totals.pushes()));
  out.Single("apply_seconds_total", "counter", "Time spent on summing and applying, all threads.",
             OfNs(totals.apply_ns()));
  out.Single("norm_phases_total", "counter", "Updates that waited for the norm of all parts.",
             static_cast<double>(totals.global_phases()));
  out.Single("norm_wait_seconds_total", "counter", "Time of these waits, mean over the parts.",
             OfNs(totals.global_phase_ns()));
  out.Begin("payload_bytes_total", "counter", "Payload of pushes received and replies sent.");
  out.Add(static_cast<double>(totals.payload_received_bytes()), {{"direction", "received"}});
  out.Add(static_cast<double>(totals.payload_sent_bytes()), {{"direction", "sent"}});
  out.Begin("memory_bytes", "gauge",
            "Parameters, optimizer state and sums, the most held for a moment, and what the "
            "process has in memory.");
  out.Add(static_cast<double>(totals.parameter_bytes()), {{"kind", "parameters"}});
  out.Add(static_cast<double>(totals.state_bytes()), {{"kind", "state"}});
  out.Add(static_cast<double>(totals.transient_bytes_max()), {{"kind", "transient_max"}});
  out.Add(static_cast<double>(status.rss_bytes()), {{"kind", "resident"}});
  out.Add(static_cast<double>(status.peak_rss_bytes()), {{"kind", "resident_max"}});
}

void AddStaleness(const ServerReport& totals, Exposition& out) {
  out.Begin("staleness", "histogram",
            "Updates between the version that a part push was computed from and its own.");
  int64_t count = 0;
  double sum = 0;
  size_t bound = 0;
  for (int value = 0; value < totals.staleness_histogram_size(); ++value) {
    for (; bound < kStalenessBounds.size() && value > kStalenessBounds[bound]; ++bound) {
      out.Add(static_cast<double>(count), {{"le", absl::StrCat(kStalenessBounds[bound])}},
              "_bucket");
    }
    count += totals.staleness_histogram(value);
    sum += static_cast<double>(value * totals.staleness_histogram(value));
  }
  for (; bound < kStalenessBounds.size(); ++bound) {
    out.Add(static_cast<double>(count), {{"le", absl::StrCat(kStalenessBounds[bound])}}, "_bucket");
  }
  out.Add(static_cast<double>(count), {{"le", "+Inf"}}, "_bucket");
  out.Add(sum, {}, "_sum");
  out.Add(static_cast<double>(count), {}, "_count");
  out.Single("staleness_max", "gauge", "Largest staleness so far.",
             static_cast<double>(totals.staleness_max()));
}

// One sample a worker.
template <typename Value>
void AddOfWorkers(const ServerStatus& status, Exposition& out, const char* name, const char* type,
                  const char* help, const Value& value) {
  out.Begin(name, type, help);
  for (int rank = 0; rank < status.workers_size(); ++rank) {
    out.Add(static_cast<double>(value(rank)), Of(rank));
  }
}

void AddStates(const ServerStatus& status, Exposition& out) {
  constexpr std::array<std::pair<WorkerStatus::State, const char*>, 4> kStates = {
      {{WorkerStatus::AWAITED, "awaited"},
       {WorkerStatus::CONNECTED, "connected"},
       {WorkerStatus::LEFT, "left"},
       {WorkerStatus::LOST, "lost"}}};
  out.Begin("worker_state", "gauge", "1 for the state that the worker is in, else 0.");
  for (int rank = 0; rank < status.workers_size(); ++rank) {
    for (const auto& [state, name] : kStates) {
      Exposition::Labels labels = Of(rank);
      labels.emplace_back("state", name);
      out.Add(status.workers(rank).state() == state ? 1 : 0, labels);
    }
  }
}

void AddWorkers(const ServerStatus& status, Exposition& out) {
  AddStates(status, out);
  AddOfWorkers(status, out, "worker_step", "gauge", "Step of the last push; -1 before the first.",
               [&](int rank) { return status.workers(rank).step(); });
  AddOfWorkers(status, out, "worker_silent_seconds", "gauge",
               "Time since the last message; -1 where the worker is awaited.",
               [&](int rank) { return status.workers(rank).silent_s(); });
  out.Begin("worker_heartbeat_age_seconds", "gauge",
            "Time since the last heartbeat, as the rendezvous knows it.");
  for (int rank = 0; rank < status.workers_size(); ++rank) {
    if (!status.workers(rank).has_heartbeat_s()) continue;
    out.Add(status.workers(rank).heartbeat_s(), Of(rank));
  }
  AddOfWorkers(status, out, "worker_unanswered_parts", "gauge",
               "Parts pushed and not yet answered: credits in use.",
               [&](int rank) { return status.workers(rank).unanswered_parts(); });
  AddOfWorkers(status, out, "worker_queued_messages", "gauge",
               "Messages that wait for the worker's connection.",
               [&](int rank) { return status.workers(rank).queued_messages(); });
  AddOfWorkers(status, out, "worker_queued_bytes", "gauge", "Bytes of these messages.",
               [&](int rank) { return status.workers(rank).queued_bytes(); });
  const ServerReport& totals = status.totals();
  AddOfWorkers(
      status, out, "worker_held_seconds_total", "counter",
      "Time in which a staleness bound held the worker's replies, all parts.",
      [&](int rank) { return rank < totals.held_ns_size() ? OfNs(totals.held_ns(rank)) : 0; });
  AddOfWorkers(
      status, out, "worker_late_pushes_total", "counter",
      "Part pushes that came after their step had closed, and were not applied.",
      [&](int rank) { return rank < totals.late_pushes_size() ? totals.late_pushes(rank) : 0; });
}

}  // namespace

std::string PrometheusText(const ServerStatus& status) {
  Exposition out(status);
  AddServer(status, out);
  AddStaleness(status.totals(), out);
  AddWorkers(status, out);
  return out.text();
}

}  // namespace crossover::ps
