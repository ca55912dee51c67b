#include "experiments/report/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "experiments/results/statistics.h"
#include "nlohmann/json.hpp"

namespace crossover::experiments {
namespace {

// A step of a report has no more spans than this (core/timeline.h).
constexpr int kMostStride = 4096;

enum Lane { kStepLane, kComputeLane, kDataLane, kApplyLane, kCommunicationLane, kLanes };
constexpr const char* kLaneNames[] = {"step", "compute", "data", "apply", "communication"};

// kLanes for a kind that is not known.
Lane LaneOf(std::string_view kind) {
  if (kind == "compute") return kComputeLane;
  if (kind == "data") return kDataLane;
  if (kind == "apply") return kApplyLane;
  if (kind == "push" || kind == "pull" || kind == "reduce" || kind == "receive") {
    return kCommunicationLane;
  }
  return kLanes;
}

// Of one process and step, as it was kept: on that process's clock.
using StepSpans = std::map<int64_t, std::vector<const proto::Span*>>;

bool Valid(const proto::Span& span) {
  return TimeInRange(span.start_ns()) && TimeInRange(span.end_ns()) &&
         span.end_ns() >= span.start_ns() && LaneOf(span.kind()) != kLanes;
}

StepSpans SpansOf(const proto::ProcessReport& report) {
  StepSpans steps;
  const auto add = [&steps](const auto& spans) {
    for (const proto::Span& span : spans) {
      if (Valid(span)) steps[span.step()].push_back(&span);
    }
  };
  add(report.worker().sample_spans());
  add(report.worker().trace_spans());
  add(report.server().spans());
  return steps;
}

// First start to last end, on the rendezvous's clock.
Interval Extent(const std::vector<const proto::Span*>& spans, int64_t offset_ns) {
  Interval extent{kTimeLimitNs, -kTimeLimitNs};
  for (const proto::Span* span : spans) {
    extent.start_ns = std::min(extent.start_ns, span->start_ns());
    extent.end_ns = std::max(extent.end_ns, span->end_ns());
  }
  return {extent.start_ns + offset_ns, extent.end_ns + offset_ns};
}

struct KeptStep {
  size_t ranks = 0;
  int64_t length_ns = 0;  // longest over the ranks that kept it
};

std::map<int64_t, KeptStep> KeptSteps(const AlignedRun& run) {
  std::map<int64_t, KeptStep> kept;
  for (const WorkerTrack& worker : run.workers) {
    for (const auto& [step, spans] : SpansOf(*worker.report)) {
      const Interval extent = Extent(spans, 0);
      KeptStep& entry = kept[step];
      ++entry.ranks;
      entry.length_ns = std::max(entry.length_ns, extent.end_ns - extent.start_ns);
    }
  }
  return kept;
}

struct Event {
  int64_t ts_ns = 0;
  int order = 0;  // among events of one time: ends come before starts
  std::string json;
};

struct Process {
  int64_t pid = 0;
  const proto::ProcessReport* report = nullptr;
  StepSpans steps;
};

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string Microseconds(int64_t ns) { return absl::StrFormat("%.3f", ns / 1e3); }

std::string EventJson(const char* phase, const std::string& name, int64_t pid, int lane,
                      int64_t ts_ns, const std::string& rest) {
  return absl::StrCat("{\"ph\":\"", phase, "\",\"name\":", Quoted(name), ",\"cat\":\"",
                      kLaneNames[lane], "\",\"pid\":", pid, ",\"tid\":", lane,
                      ",\"ts\":", Microseconds(ts_ns), rest, "}");
}

class TraceWriter {
 public:
  TraceWriter(const AlignedRun& run, const std::vector<ChosenStep>& chosen)
      : run_(run), chosen_(chosen) {
    for (const WorkerTrack& worker : run.workers) {
      processes_.push_back({worker.rank, worker.report, SpansOf(*worker.report)});
    }
    for (const proto::ProcessReport* server : run.servers) {
      const auto pid = static_cast<int64_t>(run.workers.size()) + server->rank();
      processes_.push_back({pid, server, SpansOf(*server)});
    }
  }

  // The events with every `stride`th span, in the order of their times.
  std::vector<Event> Events(int stride) const {
    std::vector<Event> events;
    for (const Process& process : processes_) {
      for (const ChosenStep& chosen : chosen_) {
        const auto spans = process.steps.find(chosen.step);
        if (spans != process.steps.end()) AddStep(process, chosen, spans->second, stride, events);
      }
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::tie(a.ts_ns, a.order) < std::tie(b.ts_ns, b.order);
    });
    return events;
  }

  // Names and order of processes and lanes.
  std::vector<std::string> Metadata() const {
    std::vector<std::string> metadata;
    for (const Process& process : processes_) {
      const auto add = [&](const char* name, int lane, const std::string& argument) {
        metadata.push_back(absl::StrCat("{\"ph\":\"M\",\"name\":\"", name,
                                        "\",\"pid\":", process.pid, ",\"tid\":", lane,
                                        ",\"args\":{", argument, "}}"));
      };
      const std::string host = process.report->host();
      const std::string name = ProcessName(*process.report);
      add("process_name", 0,
          absl::StrCat("\"name\":", Quoted(host.empty() ? name : absl::StrCat(name, ", ", host))));
      add("process_sort_index", 0, absl::StrCat("\"sort_index\":", process.pid));
      if (process.report->role() == proto::SERVER) {
        add("process_labels", 0,
            absl::StrCat("\"labels\":",
                         Quoted(absl::StrFormat("%.1f ms of summing and applying in the run",
                                                process.report->server().apply_ns() / kNsPerMs))));
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        add("thread_name", lane, absl::StrCat("\"name\":\"", kLaneNames[lane], "\""));
        add("thread_sort_index", lane, absl::StrCat("\"sort_index\":", lane));
      }
    }
    return metadata;
  }

 private:
  void AddStep(const Process& process, const ChosenStep& chosen,
               const std::vector<const proto::Span*>& spans, int stride,
               std::vector<Event>& events) const {
    const int64_t offset_ns = process.report->clock_offset_ns() - run_.training.start_ns;
    const Interval extent = Extent(spans, offset_ns);
    // A server's steps overlap where nobody waits for all.
    const bool is_server = process.report->role() == proto::SERVER;
    const std::string id = absl::StrCat(process.pid, ".", chosen.step);
    const std::string step_name = absl::StrCat("step ", chosen.step, " (", chosen.why, ")");
    if (is_server) {
      AddAsync(process.pid, kStepLane, step_name, extent, id, chosen.step, events);
    } else {
      AddComplete(process.pid, kStepLane, step_name, extent, chosen.step, events);
    }
    std::map<std::string, int> seen;
    for (size_t i = 0; i < spans.size(); ++i) {
      const proto::Span& span = *spans[i];
      if (seen[span.kind()]++ % stride != 0) continue;
      const Lane lane = LaneOf(span.kind());
      const Interval interval{span.start_ns() + offset_ns, span.end_ns() + offset_ns};
      const std::string name =
          span.op() < 0 ? span.kind() : absl::StrCat(span.kind(), " bucket ", span.op());
      if (is_server || lane == kCommunicationLane) {
        AddAsync(process.pid, lane, name, interval, absl::StrCat(id, ".", i), chosen.step, events);
      } else {
        AddComplete(process.pid, lane, name, interval, chosen.step, events);
      }
    }
  }

  static std::string StepArgument(int64_t step) {
    return absl::StrCat(",\"args\":{\"step\":", step, "}");
  }

  static void AddComplete(int64_t pid, Lane lane, const std::string& name, Interval interval,
                          int64_t step, std::vector<Event>& events) {
    const std::string duration =
        absl::StrCat(",\"dur\":", Microseconds(interval.end_ns - interval.start_ns));
    events.push_back({interval.start_ns, 1,
                      EventJson("X", name, pid, lane, interval.start_ns,
                                absl::StrCat(duration, StepArgument(step)))});
  }

  static void AddAsync(int64_t pid, Lane lane, const std::string& name, Interval interval,
                       const std::string& id, int64_t step, std::vector<Event>& events) {
    // At least a nanosecond, so that the end is sorted behind the beginning.
    const int64_t end_ns = std::max(interval.end_ns, interval.start_ns + 1);
    const std::string rest = absl::StrCat(",\"id\":\"", id, "\"");
    events.push_back({interval.start_ns, 1,
                      EventJson("b", name, pid, lane, interval.start_ns,
                                absl::StrCat(rest, StepArgument(step)))});
    events.push_back({end_ns, 0, EventJson("e", name, pid, lane, end_ns, rest)});
  }

  const AlignedRun& run_;
  const std::vector<ChosenStep>& chosen_;
  std::vector<Process> processes_;
};

std::string Assemble(const proto::Job& job, const AlignedRun& run, const TraceWriter& writer,
                     const std::vector<Event>& events, int stride) {
  int64_t clock_error_ns = 0;
  for (const WorkerTrack& worker : run.workers) {
    clock_error_ns = std::max(clock_error_ns, worker.report->clock_error_ns());
  }
  for (const proto::ProcessReport* server : run.servers) {
    clock_error_ns = std::max(clock_error_ns, server->clock_error_ns());
  }
  std::string json = absl::StrCat(
      "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"job\":", Quoted(job.name()),
      ",\"strategy\":", Quoted(proto::Strategy::Name_Name(job.strategy())),
      ",\"clocks_agree_within_ms\":\"", absl::StrFormat("%.3f", clock_error_ns / kNsPerMs),
      "\",\"spans_shown\":\"",
      stride == 1 ? std::string("all") : absl::StrCat("one in ", stride, " of each kind"),
      "\"},\"traceEvents\":[");
  const char* separator = "\n";
  for (const std::string& line : writer.Metadata()) {
    absl::StrAppend(&json, separator, line);
    separator = ",\n";
  }
  for (const Event& event : events) {
    absl::StrAppend(&json, separator, event.json);
    separator = ",\n";
  }
  absl::StrAppend(&json, "\n]}\n");
  return json;
}

}  // namespace

std::vector<ChosenStep> ChooseSteps(const AlignedRun& run) {
  const std::map<int64_t, KeptStep> kept = KeptSteps(run);
  std::vector<double> lengths;
  int64_t first_measured = std::numeric_limits<int64_t>::max();
  for (const WorkerTrack& worker : run.workers) {
    for (const StepRow& row : worker.measured()) {
      lengths.push_back(static_cast<double>(row.length_ns()));
      first_measured = std::min(first_measured, row.step);
    }
  }
  std::map<int64_t, std::string> chosen;
  const auto choose = [&chosen](int64_t step, const char* why) {
    std::string& text = chosen[step];
    absl::StrAppend(&text, text.empty() ? "" : ", ", why);
  };
  if (kept.empty() || lengths.empty()) return {};
  const double median = Median(lengths);
  int64_t ordinary = -1, slowest = -1;
  double nearest = 0;
  int64_t longest_ns = -1;
  for (const auto& [step, entry] : kept) {
    if (step < first_measured) continue;
    if (entry.length_ns > longest_ns) {
      longest_ns = entry.length_ns;
      slowest = step;
    }
    const double distance = std::abs(static_cast<double>(entry.length_ns) - median);
    if (entry.ranks == run.workers.size() && (ordinary < 0 || distance < nearest)) {
      nearest = distance;
      ordinary = step;
    }
  }
  if (kept.contains(first_measured)) choose(first_measured, "first measured");
  if (ordinary >= 0) choose(ordinary, "ordinary");
  if (slowest >= 0) choose(slowest, "slowest");
  choose(kept.rbegin()->first, "last");
  std::vector<ChosenStep> steps;
  for (const auto& [step, why] : chosen) steps.push_back({step, why});
  return steps;
}

absl::StatusOr<std::string> TraceJson(const proto::Job& job,
                                      std::span<const proto::ProcessReport> reports,
                                      size_t limit_bytes) {
  ASSIGN_OR_RETURN(const AlignedRun run, AlignReports(job, reports));
  const std::vector<ChosenStep> chosen = ChooseSteps(run);
  const TraceWriter writer(run, chosen);
  std::string json;
  for (int stride = 1; stride <= kMostStride; stride *= 2) {
    json = Assemble(job, run, writer, writer.Events(stride), stride);
    if (json.size() <= limit_bytes) return json;
  }
  // Thousands of processes: their names and nothing more.
  return Assemble(job, run, writer, {}, kMostStride);
}

}  // namespace crossover::experiments
