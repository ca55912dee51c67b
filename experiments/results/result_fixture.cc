#include "experiments/results/result_fixture.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace crossover::experiments {
namespace {

constexpr int kSteps = 708;
constexpr int kGlobalBatch = 512;
constexpr int64_t kModelBytes = int64_t{203530} * 4;

void FillStep(RunResult& run) {
  const bool is_single = run.strategy == "single";
  const double step_ms = kGlobalBatch / run.samples_per_second * 1000;
  run.step_ms_mean = step_ms;
  run.step_ms_median = step_ms * .97;
  run.step_ms_p95 = step_ms * 1.31;
  run.compute_ms = step_ms * (is_single ? .93 : .58);
  run.hidden_ms = is_single ? 0 : step_ms * .11;
  run.exposed_ms = is_single ? 0 : step_ms * .33;
  run.communication_ms = run.hidden_ms + run.exposed_ms;
  run.communication_share = run.exposed_ms / step_ms;
  run.overlap = is_single ? 0 : run.hidden_ms / run.communication_ms;
  run.wait_ms = is_single || run.strategy == "ps_async" ? 0 : step_ms * .12;
  run.transfer_ms = run.communication_ms - run.wait_ms;
  run.data_ms = step_ms * .045;
  run.apply_ms = step_ms * .025;
  run.other_ms = step_ms * .004;
  run.coverage = .996;
  run.breakdown = {run.compute_ms,
                   run.exposed_ms - run.wait_ms * .8,
                   run.wait_ms * .8,
                   run.data_ms,
                   step_ms * .021 - (is_single ? 0 : step_ms * .02),
                   run.other_ms};
}

void FillCurves(RunResult& run, double final_accuracy) {
  const double training_s = run.training_s;
  for (int i = 1; i <= 200; ++i) {
    const double part = i / 200.0;
    const double noise = .04 * std::sin(i * 12.9898 + run.repetition * 7);
    LossPoint point;
    point.step = static_cast<int64_t>(part * kSteps) - 1;
    point.time_s = part * training_s;
    point.samples = std::llround(part * kSteps * kGlobalBatch);
    point.loss = .27 + 1.9 * std::exp(-part * 9) + .3 * std::exp(-part * 2) + noise;
    run.loss_curve.push_back(point);
  }
  for (int epoch = 1; epoch <= 6; ++epoch) {
    const double part = epoch / 6.0;
    AccuracyPoint point;
    point.step = static_cast<int64_t>(part * kSteps);
    point.time_s = part * training_s;
    point.samples = point.step * kGlobalBatch;
    point.accuracy = final_accuracy - .07 * std::exp(-(epoch - 1) * .8);
    point.loss = .33 + .2 * std::exp(-(epoch - 1) * .9);
    run.accuracy_curve.push_back(point);
    if (point.accuracy >= run.target_accuracy && !run.time_to_target_s.has_value()) {
      run.time_to_target_s = point.time_s;
      run.machine_seconds_to_target = point.time_s * (run.workers + run.servers);
      run.bytes_to_target = run.bytes_sent_per_step * run.workers * point.step;
    }
  }
  run.accuracy_curve.back().accuracy = final_accuracy;
  run.test_accuracy = final_accuracy;
  run.test_loss = .334;
}

void FillProcesses(RunResult& run) {
  for (int64_t rank = 0; rank < run.workers; ++rank) {
    WorkerFigures worker;
    worker.rank = rank;
    worker.host = "127.0.0.1";
    worker.samples_per_second = run.samples_per_second / run.workers;
    worker.step_ms_median = run.step_ms_median;
    worker.compute_ms_median = run.compute_ms * (1 + .03 * rank);
    worker.exposed_ms_median = run.exposed_ms * (1 - .02 * rank);
    worker.wait_ms_median = run.wait_ms * (1 - .1 * rank);
    if (run.strategy == "ps_ssp") {
      worker.held_replies = 14 - 3 * rank;
      worker.held_ms = 31.5 - 6 * rank;
    }
    run.worker_figures.push_back(worker);
    run.processes.push_back({absl::StrCat("worker ", rank), "127.0.0.1", 231000000 + rank, 9.5});
  }
  for (int64_t rank = 0; rank < run.servers; ++rank) {
    ServerFigures server;
    server.rank = rank;
    server.host = "127.0.0.1";
    server.parameter_bytes = kModelBytes / run.servers;
    server.state_bytes = server.parameter_bytes;
    server.apply_ms_per_step = .21;
    server.pushes = int64_t{kSteps} * 4 * 7;
    run.server_figures.push_back(server);
    run.processes.push_back({absl::StrCat("server ", rank), "127.0.0.1", 18400000, 2.5});
  }
  run.peak_rss_bytes = 231000003;
}

void FillPicture(RunResult& run) {
  run.step_picture.step = kSteps - 10;
  run.step_picture.duration_ms = run.step_ms_mean * 1.05;
  for (int64_t rank = 0; rank < run.workers; ++rank) {
    const double start = .02 * run.step_ms_mean * rank;
    const auto at = [&](double part) { return start + part * run.step_ms_mean; };
    run.step_picture.spans.push_back({rank, "data", -1, at(0), at(.045)});
    run.step_picture.spans.push_back({rank, "compute", -1, at(.045), at(.62)});
    if (run.strategy == "single") continue;
    const bool servers = run.servers > 0;
    run.step_picture.spans.push_back({rank, servers ? "push" : "reduce", 0, at(.4), at(.52)});
    run.step_picture.spans.push_back({rank, servers ? "push" : "reduce", 1, at(.62), at(.8)});
    if (servers) run.step_picture.spans.push_back({rank, "pull", 1, at(.8), at(.95)});
    run.step_picture.spans.push_back({rank, "apply", -1, at(.95), at(.98)});
  }
}

void FillEnvironment(RunResult& run) {
  run.environment.cpu_model = "AMD EPYC 7B13";
  run.environment.cores = 2;
  run.environment.memory_bytes = int64_t{8} << 30;
  run.environment.kernel = "Linux 6.1.0-18-amd64";
  run.environment.hostname = "lab1";
  run.environment.compiler = "gcc 12.2.0";
  run.environment.git_commit = "c3255eb0f7f3";
  run.environment.git_dirty = true;
  run.environment.blas_library = "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3";
  run.environment.congestion_control = "cubic";
  run.environment.versions = {{"LibTorch", "1.13.1"}, {"OpenBLAS", "0.3.21"}, {"gRPC", "1.51.1"}};
  run.network.interface = "127.0.0.1";
  run.network.loopback = true;
}

}  // namespace

RunResult MadeUpRun(const std::string& strategy, int64_t servers, int64_t repetition,
                    double samples_per_second, double test_accuracy) {
  RunResult run;
  run.job_name = "fashion-mlp";
  run.model = "mlp";
  run.strategy = strategy;
  run.workers = strategy == "single" ? 1 : 4;
  run.servers = servers;
  run.shards = 4;
  run.repetition = repetition;
  run.start_time = "2026-03-01T12:00:00Z";
  run.rerun_command = "experiments/run --repetitions=3 --seed=1";
  run.resolved_job =
      "name: \"fashion-mlp\"\nmodel: mlp\nglobal_batch: 512\nepochs: 6\n"
      "strategy: " +
      strategy + "\nworkers: 4\nservers: 2\n";
  run.job_fingerprint = "00c0ffee00c0ffee";
  FillEnvironment(run);
  run.steps = kSteps;
  run.warmup_steps_left_out = 20;
  run.samples_per_second = samples_per_second;
  run.training_s = kSteps * kGlobalBatch / samples_per_second;
  run.wall_s = run.training_s + 2.4;
  run.machine_seconds = run.training_s * (run.workers + run.servers);
  run.target_accuracy = .87;
  FillStep(run);
  run.model_bytes = kModelBytes;
  if (strategy != "single") {
    run.synchronisations = strategy == "local_sgd" ? kSteps / 8 : kSteps;
    run.bytes_formula_per_step = servers > 0 ? kModelBytes : kModelBytes * 1.5;
    run.bytes_sent_per_step = run.bytes_formula_per_step;
    run.bytes_received_per_step = run.bytes_formula_per_step;
    run.wire_bytes_sent_per_step = run.bytes_sent_per_step * 1.004;
    run.wire_bytes_received_per_step = run.bytes_received_per_step * 1.004;
    StragglerFigures straggler;
    straggler.rank = 3;
    if (strategy != "ps_async" && strategy != "ps_ssp") straggler.share_of_steps = .41;
    straggler.excess_ms = .62;
    straggler.phase = "compute";
    run.straggler = straggler;
  }
  run.learning_rate_peak = .2;
  run.updates_per_global_batch = strategy == "ps_async" || strategy == "ps_ssp" ? 4 : 1;
  run.effective_learning_rate = .2;
  if (servers > 0) run.staleness = {{19824}, 0, 0};
  if (strategy == "ps_async") run.staleness = {{800, 2100, 4000, 9000, 2800, 900, 224}, 2.7, 11};
  if (strategy == "ps_ssp") run.staleness = {{2400, 3900, 6100, 6800, 624}, 1.97, 4};
  run.lead_steps_max = strategy == "ps_ssp" ? 3 : strategy == "ps_async" ? 9 : 0;
  run.clock_error_ms = .04;
  run.parameter_fingerprint = "9f3c2a7710b5e8d4";
  run.parameter_norm = 21.75;
  FillCurves(run, test_accuracy);
  FillProcesses(run);
  FillPicture(run);
  return run;
}

std::vector<RunResult> MadeUpComparison(int repetitions) {
  struct Row {
    const char* strategy;
    int64_t servers;
    double samples_per_second;
    double test_accuracy;
  };
  const Row rows[] = {
      {"single", 0, 41000, .8862},         {"ps_sync", 2, 35200, .8861},
      {"ps_ssp", 2, 39600, .8795},         {"ps_async", 2, 43800, .8612},
      {"allreduce_ring", 0, 49100, .8860}, {"local_sgd", 0, 47900, .8834},
  };
  std::vector<RunResult> results;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const double drift = 1 + .02 * std::sin(repetition * 2.0);
    for (const Row& row : rows) {
      const double jitter = 1 + .004 * std::sin(repetition * 3.0 + row.samples_per_second);
      results.push_back(MadeUpRun(
          row.strategy, row.servers, repetition, row.samples_per_second * drift * jitter,
          row.test_accuracy + .0009 * std::sin(repetition * 5.0 + row.samples_per_second)));
    }
  }
  return results;
}

}  // namespace crossover::experiments
