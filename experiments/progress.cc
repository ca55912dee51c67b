#include "experiments/progress.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/job.h"

namespace crossover::experiments {
namespace {

double SecondsBetween(int64_t start_ns, int64_t end_ns) {
  return static_cast<double>(end_ns - start_ns) * 1e-9;
}

}  // namespace

std::string FormatDuration(double seconds) {
  const int64_t whole = std::llround(std::max(seconds, 0.0));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

std::string FormatProgress(const ProgressState& state) {
  std::string line = absl::StrFormat("run %d/%d  %s %s %s", state.run, state.runs, state.strategy,
                                     state.model, state.label);
  if (state.phase == "train") {
    absl::StrAppendFormat(&line, "  step %d/%d", state.step, state.total_steps);
    if (state.samples_per_second > 0) {
      absl::StrAppendFormat(&line, "  %.0f samples/s", state.samples_per_second);
    }
    absl::StrAppendFormat(&line, "  loss %.3f", state.loss);
  } else {
    absl::StrAppend(&line, "  ", state.phase);
  }
  if (state.left_s >= 0) absl::StrAppend(&line, "  about ", FormatDuration(state.left_s), " left");
  if (line.size() > 100) line.resize(100);
  return line;
}

ProgressPrinter::ProgressPrinter(std::FILE* out, bool terminal, const Clock& clock)
    : out_(out), terminal_(terminal), clock_(clock) {}

void ProgressPrinter::StartRun(const PlannedRun& run, int runs, int64_t total_steps) {
  state_ = {.run = run.index + 1,
            .runs = runs,
            .strategy = StrategyName(run.job.strategy()),
            .model = proto::Model::Name_Name(run.job.model()),
            .label = run.label,
            .phase = "start",
            .total_steps = total_steps};
  run_start_ns_ = clock_.NowNs();
  samples_ = 0;
  samples_at_ns_ = 0;
  if (terminal_) {
    state_.left_s = LeftSeconds();
    Rewrite(FormatProgress(state_));
  } else {
    Say(absl::StrFormat("run %d/%d: %s %s %s", state_.run, runs, state_.strategy, state_.model,
                        state_.label));
  }
}

void ProgressPrinter::Update(const std::vector<net::MemberState>& members) {
  if (!terminal_) return;
  const net::MemberState* slowest = nullptr;
  int64_t samples = 0;
  for (const net::MemberState& member : members) {
    if (member.role != net::Role::kWorker) continue;
    samples += member.samples;
    if (slowest == nullptr || member.step < slowest->step) slowest = &member;
  }
  if (slowest == nullptr) return;
  const int64_t now_ns = clock_.NowNs();
  // Heartbeats come about once a second: a rate over less would jump.
  if (samples_at_ns_ == 0 || SecondsBetween(samples_at_ns_, now_ns) >= 1) {
    if (samples_at_ns_ != 0 && samples > samples_) {
      state_.samples_per_second =
          static_cast<double>(samples - samples_) / SecondsBetween(samples_at_ns_, now_ns);
    }
    samples_ = samples;
    samples_at_ns_ = now_ns;
  }
  state_.phase = slowest->joined ? slowest->phase : "start";
  state_.step = slowest->step + 1;
  state_.loss = slowest->loss;
  state_.left_s = LeftSeconds();
  Rewrite(FormatProgress(state_));
}

void ProgressPrinter::EndRun(const RunResult& result) {
  const double wall_s = SecondsBetween(run_start_ns_, clock_.NowNs());
  finished_s_ += wall_s;
  ++ended_;
  std::string line = absl::StrFormat("run %d/%d: %s %s %s: ", state_.run, state_.runs,
                                     state_.strategy, state_.model, state_.label);
  if (!result.ok()) {
    Say(absl::StrCat(line, "FAILED"));
    return;
  }
  absl::StrAppendFormat(&line, "%.0f samples/s, %.0f%% communication", result.samples_per_second,
                        100 * result.communication_share);
  if (result.test_accuracy.has_value()) {
    absl::StrAppendFormat(&line, ", accuracy %.2f%%", 100 * *result.test_accuracy);
  }
  Say(absl::StrCat(line, ", ", FormatDuration(wall_s)));
}

void ProgressPrinter::Finish() {
  if (terminal_) std::fputs("\r\033[K", out_);
  std::fflush(out_);
}

void ProgressPrinter::Say(const std::string& line) {
  if (terminal_) std::fputs("\r\033[K", out_);
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void ProgressPrinter::Rewrite(const std::string& line) {
  std::fprintf(out_, "\r\033[K%s", line.c_str());
  std::fflush(out_);
}

// Runs that ended tell how long the others take; the first one is its own guess.
double ProgressPrinter::LeftSeconds() const {
  const double running_s = SecondsBetween(run_start_ns_, clock_.NowNs());
  double per_run_s = -1;
  if (ended_ > 0) {
    per_run_s = finished_s_ / ended_;
  } else if (state_.phase == "train" && state_.step > state_.total_steps / 10) {
    per_run_s =
        running_s * static_cast<double>(state_.total_steps) / static_cast<double>(state_.step);
  }
  if (per_run_s < 0) return -1;
  return std::max(per_run_s - running_s, 0.0) + per_run_s * (state_.runs - state_.run);
}

}  // namespace crossover::experiments
