#include "experiments/report/report_tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/report/report_metrics.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

// A column: how a strategy's cell is written.
struct Column {
  Heading heading;
  std::function<std::string(const StrategySummary&)> cell;
};

// A metric of report_metrics.h: its name, its definition, its median and spread.
Column MetricColumn(const char* key) {
  const Metric& metric = MetricOf(key);
  return {{metric.name, metric.definition}, [&metric](const StrategySummary& s) {
            return FormatFigure(s, metric.figure, metric.format);
          }};
}

// A cell written from the typical run.
Column TypicalColumn(const char* title, const char* key, std::string (*write)(const RunResult&)) {
  return {{title, MetricOf(key).definition},
          [write](const StrategySummary& s) { return write(*TypicalRun(s)); }};
}

Column NameColumn() {
  return {{"Strategy", "How the workers' gradients become everyone's parameters."},
          [](const StrategySummary& s) { return s.strategy; }};
}

Table MakeTable(std::string title, std::string note, const std::vector<Column>& columns,
                const std::vector<const StrategySummary*>& strategies) {
  Table table{std::move(title), std::move(note), {}, {}};
  for (const Column& column : columns) table.headings.push_back(column.heading);
  for (const StrategySummary* strategy : strategies) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const Column& column : columns) row.push_back(column.cell(*strategy));
  }
  return table;
}

// A row for each strategy, a column for each key.
Table MetricTable(std::string title, std::string note, std::initializer_list<const char*> keys,
                  const std::vector<const StrategySummary*>& strategies) {
  std::vector<Column> columns = {NameColumn()};
  for (const char* key : keys) columns.push_back(MetricColumn(key));
  return MakeTable(std::move(title), std::move(note), columns, strategies);
}

Table SpeedTable(const Study& study, const std::vector<const StrategySummary*>& strategies) {
  const StrategySummary* single = FindStrategy(study, "single");
  const std::optional<FigureSummary> base =
      single == nullptr ? std::nullopt : Summarize(*single, Throughput);
  std::vector<Column> columns = {NameColumn()};
  columns.push_back(
      {{"Runs", "Runs that succeeded, of those that were started."}, [](const StrategySummary& s) {
         return absl::StrCat(s.runs.size(), "/", s.runs.size() + s.failed.size());
       }});
  columns.push_back(MetricColumn("samples_per_second"));
  const Metric& speed_up = MetricOf("speed_up");
  columns.push_back({{speed_up.name, speed_up.definition}, [base](const StrategySummary& s) {
                       const std::optional<FigureSummary> own = Summarize(s, Throughput);
                       if (!base.has_value() || !own.has_value()) return std::string("n/a");
                       return FormatNumber(own->median / base->median);
                     }});
  for (const char* key : {"step_ms_median", "step_ms_p95", "communication_share", "overlap",
                          "exposed_ms", "wait_ms", "transfer_ms"}) {
    columns.push_back(MetricColumn(key));
  }
  const std::vector<const RunResult*> all = study.all();
  return MakeTable(
      "Speed", absl::StrCat("The first ", all[0]->warmup_steps_left_out, " steps are left out."),
      columns, strategies);
}

Table LearningTable(const std::vector<const StrategySummary*>& strategies) {
  const std::string target = FormatAccuracy(strategies[0]->runs[0]->target_accuracy);
  return MetricTable("Learning", absl::StrCat("The target is a test accuracy of ", target, "."),
                     {"test_accuracy", "test_loss", "time_to_target_s", "machine_seconds_to_target",
                      "bytes_to_target", "updates_per_global_batch", "effective_learning_rate"},
                     strategies);
}

Table BytesTable(const std::vector<const StrategySummary*>& strategies) {
  return MetricTable("Bytes", "Of a mean worker and a synchronised step.",
                     {"synchronisations", "bytes_formula_per_step", "bytes_sent_per_step",
                      "bytes_received_per_step", "sent_over_formula", "wire_bytes_sent_per_step",
                      "wire_bytes_received_per_step"},
                     strategies);
}

Table ResourceTable(const std::vector<const StrategySummary*>& strategies) {
  return MetricTable("Resources and cost", "",
                     {"nodes", "workers", "servers", "training_s", "machine_seconds",
                      "peak_rss_bytes", "busiest_server_apply_ms", "shard_imbalance"},
                     strategies);
}

// "0: 12.1%, 1: 60.0%, ...": the slots that hold at least one push in a thousand.
std::string WriteHistogram(const RunResult& run) {
  double pushes = 0;
  for (int64_t count : run.staleness.histogram) pushes += static_cast<double>(count);
  std::vector<std::string> slots;
  for (size_t i = 0; i < run.staleness.histogram.size() && pushes > 0; ++i) {
    const double part = static_cast<double>(run.staleness.histogram[i]) / pushes;
    if (part >= .001) slots.push_back(absl::StrCat(i, ": ", FormatPercent(part)));
  }
  return slots.empty() ? "n/a" : absl::StrJoin(slots, ", ");
}

std::string WriteHeld(const RunResult& run) {
  int64_t replies = 0;
  double longest_ms = 0;
  for (const WorkerFigures& worker : run.worker_figures) {
    replies += worker.held_replies;
    longest_ms = std::max(longest_ms, worker.held_ms);
  }
  return replies == 0 ? "0" : absl::StrCat(replies, " (", FormatNumber(longest_ms), " ms)");
}

Table StalenessTable(const std::vector<const StrategySummary*>& strategies) {
  return MakeTable("Staleness", "",
                   {NameColumn(), MetricColumn("staleness.mean"), MetricColumn("staleness.max"),
                    TypicalColumn("Pushes by staleness", "staleness.histogram", WriteHistogram),
                    MetricColumn("lead_steps_max"), MetricColumn("late_pushes"),
                    TypicalColumn("Replies held", "worker_figures.held_replies", WriteHeld)},
                   strategies);
}

Table StragglerTable(const std::vector<const StrategySummary*>& strategies) {
  return MakeTable(
      "Who the others waited for", "Of each strategy's typical run.",
      {NameColumn(),
       TypicalColumn("Rank", "straggler.rank",
                     [](const RunResult& run) { return absl::StrCat(run.straggler->rank); }),
       TypicalColumn("Last in", "straggler.share_of_steps",
                     [](const RunResult& run) {
                       const std::optional<double>& share = run.straggler->share_of_steps;
                       return share.has_value() ? absl::StrCat(FormatPercent(*share), " of steps")
                                                : std::string("no barrier");
                     }),
       TypicalColumn("Excess ms", "straggler.excess_ms",
                     [](const RunResult& run) {
                       return absl::StrCat(
                           FormatNumber(run.straggler->excess_ms),
                           run.straggler->within_clock_error ? " (within the clocks' error)" : "");
                     }),
       {{"Phase", "Where it lost the most against the others."},
        [](const StrategySummary& s) { return TypicalRun(s)->straggler->phase; }}},
      strategies);
}

Table WorkerTable(const std::vector<const StrategySummary*>& strategies) {
  Table table{"Workers",
              "Medians over the measured steps of each strategy's typical run.",
              {{"Strategy", ""},
               {"Rank", ""},
               {"Host", ""},
               {"Samples/s", "Its own samples."},
               {"Step ms", ""},
               {"Compute ms", ""},
               {"Exposed ms", ""},
               {"Wait ms", ""},
               {"Peak memory", ""}},
              {}};
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    for (size_t i = 0; i < run.worker_figures.size(); ++i) {
      const WorkerFigures& worker = run.worker_figures[i];
      table.rows.push_back(
          {strategy->strategy, absl::StrCat(worker.rank), worker.host,
           FormatNumber(worker.samples_per_second), FormatNumber(worker.step_ms_median),
           FormatNumber(worker.compute_ms_median), FormatNumber(worker.exposed_ms_median),
           FormatNumber(worker.wait_ms_median),
           i < run.processes.size()
               ? FormatBytes(static_cast<double>(run.processes[i].peak_rss_bytes))
               : "n/a"});
    }
  }
  return table;
}

Table ServerTable(const std::vector<const StrategySummary*>& strategies) {
  Table table{"Servers",
              "Of each strategy's typical run.",
              {{"Strategy", ""},
               {"Rank", ""},
               {"Host", ""},
               {"Parameters", ""},
               {"State", "Optimizer state."},
               {"Apply ms/step", "Summing and optimizer, all threads."},
               {"Pushes", "Part pushes applied."},
               {"Peak memory", ""}},
              {}};
  for (const StrategySummary* strategy : strategies) {
    const RunResult& run = *TypicalRun(*strategy);
    for (size_t i = 0; i < run.server_figures.size(); ++i) {
      const ServerFigures& server = run.server_figures[i];
      const size_t process = run.worker_figures.size() + i;
      table.rows.push_back(
          {strategy->strategy, absl::StrCat(server.rank), server.host,
           FormatBytes(static_cast<double>(server.parameter_bytes)),
           FormatBytes(static_cast<double>(server.state_bytes)),
           FormatNumber(server.apply_ms_per_step), FormatCount(static_cast<double>(server.pushes)),
           process < run.processes.size()
               ? FormatBytes(static_cast<double>(run.processes[process].peak_rss_bytes))
               : "n/a"});
    }
  }
  return table;
}

std::vector<const StrategySummary*> Those(const std::vector<const StrategySummary*>& strategies,
                                          bool (*wanted)(const RunResult&)) {
  std::vector<const StrategySummary*> those;
  for (const StrategySummary* strategy : strategies) {
    if (wanted(*TypicalRun(*strategy))) those.push_back(strategy);
  }
  return those;
}

// Of the hosts against the launcher's; "" where there is one machine's clock alone.
std::string DescribeHostClocks(const Network& network) {
  std::string out;
  for (const ProbedNode& node : network.probe) {
    if (!node.clock_offset_s.has_value() || !node.clock_error_s.has_value()) continue;
    absl::StrAppend(&out, out.empty() ? "" : ", ", node.name, " ",
                    *node.clock_offset_s < 0 ? "" : "+", FormatSeconds(*node.clock_offset_s),
                    " (within ", FormatSeconds(*node.clock_error_s), ")");
  }
  return out.empty() ? "" : absl::StrCat(out, "; against the launcher's, before the runs");
}

}  // namespace

std::vector<Table> StrategyTables(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  if (strategies.empty()) return {};
  std::vector<Table> tables = {SpeedTable(study, strategies), LearningTable(strategies),
                               BytesTable(strategies), ResourceTable(strategies)};
  const auto served = Those(strategies, [](const RunResult& run) { return run.servers > 0; });
  if (!served.empty()) tables.push_back(StalenessTable(served));
  const auto late =
      Those(strategies, [](const RunResult& run) { return run.straggler.has_value(); });
  if (!late.empty()) tables.push_back(StragglerTable(late));
  return tables;
}

std::vector<Table> ProcessTables(const Study& study) {
  const std::vector<const StrategySummary*> strategies = Succeeded(study);
  if (strategies.empty()) return {};
  std::vector<Table> tables = {WorkerTable(strategies)};
  Table servers = ServerTable(strategies);
  if (!servers.rows.empty()) tables.push_back(std::move(servers));
  return tables;
}

std::string DescribeNetwork(const RunResult& run) {
  const Network& network = run.network;
  std::string out = !network.kind.empty() ? network.kind
                    : network.loopback    ? "loopback"
                                          : "network";
  absl::StrAppend(&out, ", ", network.shaping.empty() ? "unshaped" : network.shaping);
  const std::string& control = network.congestion_control.empty()
                                   ? run.environment.congestion_control
                                   : network.congestion_control;
  if (!control.empty()) absl::StrAppend(&out, ", ", control);
  if (!network.placement.empty()) absl::StrAppend(&out, ", servers ", network.placement);
  return out;
}

Table EnvironmentTable(const Study& study) {
  const std::vector<const RunResult*> runs = study.all();
  const RunResult& run = *runs[0];
  const Environment& e = run.environment;
  const auto known = [](const std::string& text) { return text.empty() ? "unknown" : text; };
  Table table{"Environment", "", {{"What", ""}, {"Value", ""}}, {}};
  const auto add = [&](const char* what, std::string value) {
    table.rows.push_back({what, std::move(value)});
  };
  add("Processor", absl::StrCat(known(e.cpu_model), ", ", e.cores, " cores"));
  add("Memory", FormatBytes(static_cast<double>(e.memory_bytes)));
  add("Host", known(e.hostname));
  add("Kernel", known(e.kernel));
  add("Network", absl::StrCat(known(run.network.interface), "; ", DescribeNetwork(run)));
  add("Commit", absl::StrCat(known(e.git_commit), e.git_dirty ? " with local changes" : ""));
  add("Compiler", known(e.compiler));
  add("BLAS", known(e.blas_library));
  for (const auto& [name, version] : e.versions) add(name.c_str(), version);
  double clock_error_ms = 0;
  for (const RunResult* other : runs)
    clock_error_ms = std::max(clock_error_ms, other->clock_error_ms);
  add("Clocks agree within", absl::StrCat(FormatNumber(clock_error_ms), " ms"));
  const std::string host_clocks = DescribeHostClocks(run.network);
  if (!host_clocks.empty()) add("Time of day on the hosts", host_clocks);
  add("First run started", known(run.start_time));
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const RunResult* other) {
    return other->environment.git_commit == e.git_commit &&
           other->environment.hostname == e.hostname && other->environment.cores == e.cores;
  });
  if (!same) table.note = "Not all runs had this environment: hosts, cores or commits differ.";
  return table;
}

std::string ResolvedJob(const Study& study) { return study.all()[0]->resolved_job; }

std::string RerunCommand(const Study& study) { return study.all()[0]->rerun_command; }

}  // namespace crossover::experiments
