#include "experiments/report_tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/format.h"

namespace crossover::experiments {
namespace {

// A column: how a strategy's cell is written.
struct Column {
  Heading heading;
  std::function<std::string(const StrategySummary&)> cell;
};

Column FigureColumn(const char* title, const char* definition, Figure figure, NumberFormat format) {
  return {{title, definition}, [figure = std::move(figure), format](const StrategySummary& s) {
            return FormatFigure(s, figure, format);
          }};
}

// The same column for a plain field of a result.
template <typename T>
Column FieldColumn(const char* title, const char* definition, T RunResult::*field,
                   NumberFormat format) {
  return FigureColumn(
      title, definition,
      [field](const RunResult& run) -> std::optional<double> { return run.*field; }, format);
}

// A cell written from the typical run.
Column TypicalColumn(const char* title, const char* definition,
                     std::string (*write)(const RunResult&)) {
  return {{title, definition}, [write](const StrategySummary& s) { return write(*TypicalRun(s)); }};
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

std::vector<const StrategySummary*> Succeeded(const Study& study) {
  std::vector<const StrategySummary*> strategies;
  for (const StrategySummary& strategy : study.strategies) {
    if (!strategy.runs.empty()) strategies.push_back(&strategy);
  }
  return strategies;
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
  columns.push_back(FigureColumn("Samples/s",
                                 "Samples of all workers in the steps after the warm-up, over "
                                 "the time from the first start to the last end.",
                                 Throughput, FormatNumber));
  columns.push_back(
      {{"x single", "Median samples/s over that of single."}, [base](const StrategySummary& s) {
         const std::optional<FigureSummary> own = Summarize(s, Throughput);
         if (!base.has_value() || !own.has_value()) return std::string("n/a");
         return FormatNumber(own->median / base->median);
       }});
  columns.push_back(FieldColumn("Step median ms",
                                "Median length of a step, over ranks and measured steps.",
                                &RunResult::step_ms_median, FormatNumber));
  columns.push_back(FieldColumn("Step p95 ms",
                                "95th percentile (nearest rank) over ranks and measured steps.",
                                &RunResult::step_ms_p95, FormatNumber));
  columns.push_back(FieldColumn("Communication share",
                                "Exposed communication over step time: the part of the training "
                                "in which a worker only communicates.",
                                &RunResult::communication_share, FormatPercent));
  columns.push_back(FieldColumn("Overlap",
                                "Communication that ran beneath compute, over all communication.",
                                &RunResult::overlap, FormatPercent));
  columns.push_back(FieldColumn("Exposed ms", "Communication outside compute, per mean step.",
                                &RunResult::exposed_ms, FormatNumber));
  columns.push_back(FieldColumn("Wait ms",
                                "Part of communication until the last rank had started the same "
                                "operation (or a bound let go), hidden or not.",
                                &RunResult::wait_ms, FormatNumber));
  columns.push_back(FieldColumn("Transfer ms", "Communication without the wait.",
                                &RunResult::transfer_ms, FormatNumber));
  const std::vector<const RunResult*> all = study.all();
  return MakeTable(
      "Speed", absl::StrCat("The first ", all[0]->warmup_steps_left_out, " steps are left out."),
      columns, strategies);
}

Table LearningTable(const std::vector<const StrategySummary*>& strategies) {
  const std::string target = FormatAccuracy(strategies[0]->runs[0]->target_accuracy);
  const std::string time = absl::StrCat("Time to ", target, " s");
  std::vector<Column> columns = {NameColumn()};
  columns.push_back(FigureColumn("Test accuracy", "Of rank 0's parameters at the end.",
                                 TestAccuracy, FormatAccuracy));
  columns.push_back(FigureColumn(
      "Test loss", "Mean cross-entropy of the test set at the end.",
      [](const RunResult& run) { return run.test_loss; }, FormatNumber));
  columns.push_back(FigureColumn(time.c_str(),
                                 "Training time until the first snapshot at the target; "
                                 "snapshots are evaluated off the clock.",
                                 TimeToTarget, FormatNumber));
  columns.push_back(FigureColumn("Machine-seconds to it",
                                 "That time, times the processes, servers included.", CostToTarget,
                                 FormatNumber));
  columns.push_back(FigureColumn(
      "Bytes to it", "Payload that all workers had sent by then.",
      [](const RunResult& run) { return run.bytes_to_target; }, FormatBytes));
  columns.push_back(FieldColumn("Updates a global batch",
                                "Optimizer updates that the samples of one global batch make.",
                                &RunResult::updates_per_global_batch, FormatCount));
  columns.push_back(FieldColumn("Effective learning rate",
                                "Peak rate of one update times the updates a global batch: what a "
                                "synchronous run would need to move as far.",
                                &RunResult::effective_learning_rate, FormatNumber));
  return MakeTable("Learning", "", columns, strategies);
}

Table BytesTable(const std::vector<const StrategySummary*>& strategies) {
  std::vector<Column> columns = {NameColumn()};
  columns.push_back(FieldColumn("Synchronisations", "Steps at whose end values were exchanged.",
                                &RunResult::synchronisations, FormatCount));
  columns.push_back(FieldColumn("Formula, each way",
                                "Model bytes M for a worker of servers, 2(N-1)/N M in a ring of N.",
                                &RunResult::bytes_formula_per_step, FormatBytes));
  columns.push_back(FieldColumn("Sent", "Payload by the workers' own ledger, headers apart.",
                                &RunResult::bytes_sent_per_step, FormatBytes));
  columns.push_back(FieldColumn("Received", "Payload by the workers' own ledger, headers apart.",
                                &RunResult::bytes_received_per_step, FormatBytes));
  columns.push_back(FigureColumn(
      "Sent / formula", "1 where the ledger agrees with the formula.",
      [](const RunResult& run) -> std::optional<double> {
        if (run.bytes_formula_per_step <= 0) return std::nullopt;
        return run.bytes_sent_per_step / run.bytes_formula_per_step;
      },
      FormatNumber));
  columns.push_back(FieldColumn("Sent on the wire",
                                "As the kernel counts it: headers and retransmissions included.",
                                &RunResult::wire_bytes_sent_per_step, FormatBytes));
  columns.push_back(FieldColumn("Received on the wire",
                                "As the kernel counts it: headers and retransmissions included.",
                                &RunResult::wire_bytes_received_per_step, FormatBytes));
  return MakeTable("Bytes", "Of a mean worker and a synchronised step.", columns, strategies);
}

Table ResourceTable(const std::vector<const StrategySummary*>& strategies) {
  std::vector<Column> columns = {NameColumn()};
  columns.push_back(FieldColumn("Workers", "Worker processes.", &RunResult::workers, FormatCount));
  columns.push_back(FieldColumn("Servers", "Server processes.", &RunResult::servers, FormatCount));
  columns.push_back(FieldColumn("Training s",
                                "First start to last end of the training loops, warm-up included.",
                                &RunResult::training_s, FormatNumber));
  columns.push_back(FieldColumn("Machine-seconds",
                                "Training time times the processes, one machine for each.",
                                &RunResult::machine_seconds, FormatNumber));
  columns.push_back(FieldColumn("Peak memory", "Resident set of the largest process.",
                                &RunResult::peak_rss_bytes, FormatBytes));
  columns.push_back(FigureColumn(
      "Server apply ms/step", "Summing and optimizer of the busiest server, over steps.",
      [](const RunResult& run) -> std::optional<double> {
        if (run.server_figures.empty()) return std::nullopt;
        double busiest = 0;
        for (const ServerFigures& server : run.server_figures) {
          busiest = std::max(busiest, server.apply_ms_per_step);
        }
        return busiest;
      },
      FormatNumber));
  columns.push_back(FigureColumn(
      "Shard imbalance", "The largest server's parameters over the mean; 1 is even.",
      [](const RunResult& run) -> std::optional<double> {
        if (run.server_figures.empty()) return std::nullopt;
        return run.shard_imbalance;
      },
      FormatNumber));
  return MakeTable("Resources and cost", "", columns, strategies);
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
  std::vector<Column> columns = {NameColumn()};
  columns.push_back(FigureColumn(
      "Mean",
      "Versions applied on a shard between the pull that a push was computed from and its apply.",
      [](const RunResult& run) -> std::optional<double> { return run.staleness.mean; },
      FormatNumber));
  columns.push_back(FigureColumn(
      "Max", "The largest staleness of any push.",
      [](const RunResult& run) -> std::optional<double> { return run.staleness.max; },
      FormatCount));
  columns.push_back(TypicalColumn("Pushes by staleness", "Of the typical run.", WriteHistogram));
  columns.push_back(FieldColumn("Largest lead, steps",
                                "Steps of the fastest worker ahead of the slowest.",
                                &RunResult::lead_steps_max, FormatCount));
  columns.push_back(TypicalColumn("Replies held",
                                  "Part replies that a bound held, and the time of the worker held "
                                  "longest; of the typical run.",
                                  WriteHeld));
  return MakeTable("Staleness", "", columns, strategies);
}

Table StragglerTable(const std::vector<const StrategySummary*>& strategies) {
  std::vector<Column> columns = {NameColumn()};
  columns.push_back(
      TypicalColumn("Rank",
                    "Most often the last to start a step's operation; "
                    "without a barrier, the rank with the lowest samples/s.",
                    [](const RunResult& run) { return absl::StrCat(run.straggler->rank); }));
  columns.push_back(TypicalColumn(
      "Last in", "Steps in which it was the last; by chance 1 in N.", [](const RunResult& run) {
        const std::optional<double>& share = run.straggler->share_of_steps;
        return share.has_value() ? absl::StrCat(FormatPercent(*share), " of steps")
                                 : std::string("no barrier");
      }));
  columns.push_back(TypicalColumn(
      "Excess ms", "Mean delay behind the median of the others.", [](const RunResult& run) {
        return absl::StrCat(FormatNumber(run.straggler->excess_ms),
                            run.straggler->within_clock_error ? " (within the clocks' error)" : "");
      }));
  columns.push_back(TypicalColumn("Phase", "Where it lost the most against the others.",
                                  [](const RunResult& run) { return run.straggler->phase; }));
  return MakeTable("Who the others waited for", "Of each strategy's typical run.", columns,
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
               {"State", "Optimizer state and staging."},
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
  add("Network",
      absl::StrCat(known(run.network.interface), run.network.loopback ? " (loopback)" : "", ", ",
                   run.network.shaping.empty() ? "unshaped" : run.network.shaping, ", ",
                   known(e.congestion_control)));
  add("Commit", absl::StrCat(known(e.git_commit), e.git_dirty ? " with local changes" : ""));
  add("Compiler", known(e.compiler));
  add("BLAS", known(e.blas_library));
  for (const auto& [name, version] : e.versions) add(name.c_str(), version);
  double clock_error_ms = 0;
  for (const RunResult* other : runs)
    clock_error_ms = std::max(clock_error_ms, other->clock_error_ms);
  add("Clocks agree within", absl::StrCat(FormatNumber(clock_error_ms), " ms"));
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
