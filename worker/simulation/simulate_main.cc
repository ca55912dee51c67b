// The simulate binary: a job's strategies in virtual time, one after another, each with the job's
// seed and those that follow it. A line of JSON on standard output for each run.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/flag_parser.h"
#include "core/job.h"
#include "core/status.h"
#include "os/job_file.h"
#include "worker/data/dataset.h"
#include "worker/models/blas.h"
#include "worker/simulation/simulation.h"

namespace crossover::worker {
namespace {

struct Arguments {
  double compute_ms_min = 8;
  double compute_ms_max = 12;
  double latency_ms = 0.1;
  double link_mbit_per_s = 1000;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags("simulate [flags] [JOB.textproto]",
                "Trains with virtual workers in virtual time, by the rules of real servers: each "
                "of comparison.strategies, comparison.repetitions times with seeds from seed on. "
                "Prints a line of JSON for each run.");
  flags.Add({"compute_ms_min", "a step's compute is drawn evenly from here", "8",
             SetReal(&arguments.compute_ms_min, 0, 1e6)});
  flags.Add({"compute_ms_max", "to here", "12", SetReal(&arguments.compute_ms_max, 0, 1e6)});
  flags.Add(
      {"latency_ms", "of each message, one way", "0.1", SetReal(&arguments.latency_ms, 0, 1e6)});
  flags.Add({"link_mbit_per_s", "each way, of each worker; 0: no time", "1000",
             SetReal(&arguments.link_mbit_per_s, 0, 1e9)});
  flags.AddJobFields();
  flags.AddExample("simulate --comparison.strategies=ps_sync,ps_async --workers=16 --epochs=1",
                   "two rules on the default job");
  return flags;
}

int64_t Ns(double ms) { return static_cast<int64_t>(ms * 1e6); }

absl::StatusOr<VirtualCluster> ClusterOf(const Arguments& arguments) {
  if (arguments.compute_ms_max < arguments.compute_ms_min) {
    return absl::InvalidArgumentError(absl::StrCat("--compute_ms_max=", arguments.compute_ms_max,
                                                   ": allowed: --compute_ms_min, ",
                                                   arguments.compute_ms_min, ", or more"));
  }
  return VirtualCluster{
      .compute = {.min_ns = Ns(arguments.compute_ms_min), .max_ns = Ns(arguments.compute_ms_max)},
      .latency_ns = Ns(arguments.latency_ms),
      .link_bytes_per_s = arguments.link_mbit_per_s * 1e6 / 8};
}

absl::StatusOr<proto::Job> ReadJob(const ParsedFlags& flags) {
  if (flags.positional.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", flags.positional[1], "': allowed: one job file"));
  }
  return os::ReadJob(flags.positional.empty() ? "" : flags.positional[0], flags);
}

std::string Number(double value) {
  return std::isfinite(value) ? absl::StrCat(value) : std::string("null");
}

// What a line says of the job is what its reader groups by.
std::string ToJson(const proto::Job& job, const SimulatedTraining& training) {
  std::vector<std::string> points;
  for (const AccuracyPoint& point : training.points) {
    points.push_back(absl::StrCat("{\"steps\":", point.steps, ",\"time_s\":", point.time_s,
                                  ",\"accuracy\":", point.accuracy, "}"));
  }
  const auto contributions =
      static_cast<double>(std::max<int64_t>(1, training.rates.contributions));
  // Nothing in the reason needs to be escaped: it is ours, of numbers and words.
  return absl::StrCat(
      "{\"strategy\":\"", StrategyName(job.strategy()), "\",\"workers\":", job.workers(),
      ",\"seed\":", job.seed(), ",\"accuracy\":", training.points.back().accuracy,
      ",\"samples_per_s\":", training.samples_per_s, ",\"end_s\":", training.end_s,
      ",\"last_step_loss\":", Number(training.step_losses.back()),
      ",\"staleness_mean\":", training.staleness_mean, ",\"staleness\":[",
      absl::StrJoin(training.staleness_counts, ","), "],\"held_s\":[",
      absl::StrJoin(training.held_s, ","), "],\"late_pushes\":", training.late_pushes,
      ",\"scheduled_learning_rate\":", training.rates.scheduled / contributions,
      ",\"effective_learning_rate\":", training.rates.effective / contributions,
      ",\"divergence\":\"", training.divergence, "\",\"points\":[", absl::StrJoin(points, ","),
      "]}");
}

absl::StatusOr<std::vector<proto::Job>> Runs(const proto::Job& job) {
  std::vector<proto::Job> runs;
  std::vector<int> strategies(job.comparison().strategies().begin(),
                              job.comparison().strategies().end());
  if (strategies.empty()) strategies.push_back(job.strategy());
  for (int repetition = 0; repetition < job.comparison().repetitions(); ++repetition) {
    for (const int strategy : strategies) {
      proto::Job& run = runs.emplace_back(job);
      run.set_strategy(static_cast<proto::Strategy::Name>(strategy));
      run.set_seed(job.seed() + repetition);
      RETURN_IF_ERROR(ValidateJob(run));
      RETURN_IF_ERROR(CheckSimulated(run));
    }
  }
  return runs;
}

absl::Status RunAll(const Arguments& arguments, const ParsedFlags& flags) {
  ASSIGN_OR_RETURN(const VirtualCluster cluster, ClusterOf(arguments));
  ASSIGN_OR_RETURN(const proto::Job job, ReadJob(flags));
  ASSIGN_OR_RETURN(const std::vector<proto::Job> runs, Runs(job));
  ASSIGN_OR_RETURN(const TrainTest data, ReadData(job.data()));
  for (const proto::Job& run : runs) {
    ASSIGN_OR_RETURN(const SimulatedTraining training, SimulateTraining(run, cluster, data));
    std::printf("%s\n", ToJson(run, training).c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  TakeBlasKernelsOfProcessor();  // while there is one thread
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (parsed.ok() && parsed->help) {
    std::printf("%s", flags.Usage().c_str());
    return 0;
  }
  const absl::Status status = parsed.ok() ? RunAll(arguments, *parsed) : parsed.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "simulate: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace crossover::worker

int main(int argc, char** argv) {
  const int code = crossover::worker::Main(argc, argv);
  // As in the worker: LibTorch's destructors would only cost time.
  std::fflush(nullptr);
  std::_Exit(code);
}
