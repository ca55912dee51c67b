#include "bench/ps/push_pull.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "bench/ps/process_costs.h"
#include "bench/ps/values.h"
#include "bench/shared/buffer.h"
#include "bench/shared/repetitions.h"
#include "core/status.h"
#include "experiments/results/statistics.h"

namespace crossover::bench {
namespace {

constexpr double kGB = 1e9;
// Repetitions whose spans are kept, for the time of the pushes alone.
constexpr int64_t kKeptMax = 64;
// In which one worker can get ahead of another, where none waits.
constexpr int64_t kAsyncStepsMin = 8;

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// From the first push's start until the last has been written.
double PushUs(const Timeline::StepSpans& step) {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = 0;
  for (const TimeSpan& span : step.spans) {
    if (span.kind != SpanKind::kPush) continue;
    first = std::min(first, span.interval.start_ns);
    last = std::max(last, span.interval.end_ns);
  }
  return last > first ? static_cast<double>(last - first) * 1e-3 : 0;
}

class Measurement {
 public:
  Measurement(const PushPullPlan& plan, Control& control, const PushPullSubject& subject)
      : plan_(plan),
        control_(control),
        subject_(subject),
        async_(plan.strategy == "ps_async"),
        times_mean_(async_ ? control.world_size() : 1) {}

  absl::StatusOr<PushPullRecord> Run() {
    RETURN_IF_ERROR(Allocate());
    RETURN_IF_ERROR(Begin());
    RETURN_IF_ERROR(CheckTwoSteps());
    RETURN_IF_ERROR(Time());
    RETURN_IF_ERROR(CheckTwoSteps());
    return Collect();
  }

 private:
  absl::StatusOr<std::span<float>> AllocateModel() {
    ASSIGN_OR_RETURN(buffers_.emplace_back(), Buffer::Private(plan_.bytes));
    auto* const values = reinterpret_cast<float*>(buffers_.back().data());
    return std::span<float>(values, static_cast<size_t>(plan_.bytes) / sizeof(float));
  }

  absl::Status Allocate() {
    ASSIGN_OR_RETURN(parameters_, AllocateModel());
    for (const bool odd : {false, true}) {
      ASSIGN_OR_RETURN(pushed_[odd ? 1 : 0], AllocateModel());
      FillPush(control_.rank(), control_.world_size(), odd, pushed_[odd ? 1 : 0]);
    }
    return absl::OkStatus();
  }

  absl::Status Begin() {
    if (control_.rank() == 0) {
      FillFirstParameters(parameters_);
      RETURN_IF_ERROR(subject_.client->Initialize(parameters_));
    }
    SpoilParameters();
    RETURN_IF_ERROR(subject_.client->Pull(parameters_));
    wrong_ += CountWrong(0, times_mean_, parameters_);
    return control_.Barrier();  // before somebody pushes
  }

  // Not a number, so that what is not written is found.
  void SpoilParameters() { std::memset(parameters_.data(), 0xff, parameters_.size_bytes()); }

  absl::Status Step() {
    subject_.timeline->BeginStep(step_);
    subject_.client->BeginStep(step_, pushed_[step_ % 2], parameters_);
    for (int bucket = 0; bucket < static_cast<int>(plan_.buckets); ++bucket) {
      subject_.client->PushBucket(bucket);
    }
    RETURN_IF_ERROR(subject_.client->Wait());
    subject_.timeline->EndStep(0, 0);
    ++step_;
    return absl::OkStatus();
  }

  // An even and an odd one, or the other way round.
  absl::Status CheckTwoSteps() {
    for (int i = 0; i < 2; ++i) {
      SpoilParameters();
      RETURN_IF_ERROR(Step());
      if (async_) RETURN_IF_ERROR(PullWhenAllHavePushed());
      wrong_ += CountWrong(step_, times_mean_, parameters_);
    }
    return absl::OkStatus();
  }

  absl::Status PullWhenAllHavePushed() {
    RETURN_IF_ERROR(control_.Barrier());
    SpoilParameters();
    RETURN_IF_ERROR(subject_.client->Pull(parameters_));
    return control_.Barrier();
  }

  double Seconds(int64_t since_ns) const {
    return static_cast<double>(control_.clock().NowNs() - since_ns) * 1e-9;
  }

  absl::Status Time() {
    RETURN_IF_ERROR(control_.Barrier());
    const int64_t warm_ns = control_.clock().NowNs();
    for (int64_t i = 0; i < plan_.warmup; ++i) RETURN_IF_ERROR(Step());
    ASSIGN_OR_RETURN(const double step_s,
                     control_.Max(Seconds(warm_ns) / static_cast<double>(plan_.warmup)));
    Repetitions repetitions = PlanRepetitions(plan_.iterations, plan_.budget_s, step_s);
    if (async_) repetitions.batch = std::max(repetitions.batch, kAsyncStepsMin);
    KeepSpans(repetitions);
    RETURN_IF_ERROR(control_.Barrier());
    ASSIGN_OR_RETURN(const double servers_before_s, ServersCpuSeconds());
    const double cpu_before_s = OwnCpuSeconds();
    for (int64_t i = 0; i < repetitions.count; ++i) {
      RETURN_IF_ERROR(control_.Barrier());
      const int64_t start_ns = control_.clock().NowNs();
      for (int64_t step = 0; step < repetitions.batch; ++step) RETURN_IF_ERROR(Step());
      times_us_.push_back(Seconds(start_ns) * 1e6 / static_cast<double>(repetitions.batch));
    }
    cpu_s_ = OwnCpuSeconds() - cpu_before_s;
    RETURN_IF_ERROR(control_.Barrier());
    ASSIGN_OR_RETURN(const double servers_after_s, ServersCpuSeconds());
    servers_cpu_s_ = servers_after_s - servers_before_s;
    timed_steps_ = repetitions.batch * repetitions.count;
    return absl::OkStatus();
  }

  // Of the last step of each repetition.
  void KeepSpans(const Repetitions& repetitions) {
    std::vector<int64_t> steps;
    for (int64_t i = 1; i <= std::min(repetitions.count, kKeptMax); ++i) {
      steps.push_back(step_ + i * repetitions.batch - 1);
    }
    subject_.timeline->KeepSpansOf(steps);
  }

  // 0 of other ranks.
  absl::StatusOr<double> ServersCpuSeconds() const {
    double seconds = 0;
    if (control_.rank() != 0) return seconds;
    for (const pid_t pid : subject_.server_pids) {
      ASSIGN_OR_RETURN(const double one_s, CpuSecondsOf(pid));
      seconds += one_s;
    }
    return seconds;
  }

  absl::StatusOr<double> ServersPeakBytes() const {
    double most = 0;
    if (control_.rank() != 0) return most;
    for (const pid_t pid : subject_.server_pids) {
      ASSIGN_OR_RETURN(const double one, PeakBytesOf(pid));
      most = std::max(most, one);
    }
    return most;
  }

  // By repetition, the maximum over the workers.
  absl::StatusOr<std::vector<double>> Slowest(const std::vector<double>& mine,
                                              std::vector<double>* medians) {
    ASSIGN_OR_RETURN(const auto all, control_.Exchange(std::span<const double>(mine)));
    std::vector<double> slowest(mine.size());
    for (const std::vector<double>& one : all) {
      for (size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], one[i]);
      if (medians != nullptr) medians->push_back(experiments::Median(one));
    }
    return slowest;
  }

  absl::StatusOr<PushPullRecord> Collect() {
    PushPullRecord record;
    record.strategy = plan_.strategy;
    record.workers = plan_.workers;
    record.servers = plan_.servers;
    record.bytes = plan_.bytes;
    record.buckets = plan_.buckets;
    record.steps = timed_steps_;
    ASSIGN_OR_RETURN(const std::vector<double> times, Slowest(times_us_, &record.worker_time_us));
    record.time_us = experiments::Median(times);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    record.time_us_min = *least;
    record.time_us_max = *most;
    std::vector<double> pushes;
    for (const Timeline::StepSpans& step : subject_.timeline->kept_spans()) {
      pushes.push_back(PushUs(step));
    }
    ASSIGN_OR_RETURN(pushes, Slowest(pushes, nullptr));
    record.push_us = experiments::Median(pushes);
    record.algbw_GBps = static_cast<double>(plan_.bytes) / record.time_us * 1e-3;
    RETURN_IF_ERROR(CollectCosts(record));
    std::vector<double> rates;
    for (const double us : record.worker_time_us) rates.push_back(1 / us);
    record.fairness = FairnessIndex(rates);
    return record;
  }

  absl::Status CollectCosts(PushPullRecord& record) {
    ASSIGN_OR_RETURN(const double peak_bytes, ServersPeakBytes());
    const double mine[] = {cpu_s_, servers_cpu_s_, peak_bytes, static_cast<double>(wrong_)};
    ASSIGN_OR_RETURN(const auto all, control_.Exchange(std::span<const double>(mine)));
    const double pushed_GB = static_cast<double>(plan_.bytes * timed_steps_) *
                             static_cast<double>(control_.world_size()) / kGB;
    for (const std::vector<double>& one : all) {
      record.worker_cpu_s_per_GB += one[0] / pushed_GB;
      record.server_cpu_s_per_GB += one[1] / pushed_GB;
      record.server_peak_MB += one[2] * 1e-6;
      record.wrong += static_cast<int64_t>(one[3]);
    }
    return absl::OkStatus();
  }

  const PushPullPlan& plan_;
  Control& control_;
  const PushPullSubject& subject_;
  const bool async_;      // every push is applied by itself
  const int times_mean_;  // how far a step moves the parameters
  std::vector<Buffer> buffers_;
  std::span<float> parameters_;
  std::span<float> pushed_[2];  // of even and of odd steps
  int64_t step_ = 0;
  std::vector<double> times_us_;  // by repetition, of a step
  double cpu_s_ = 0;
  double servers_cpu_s_ = 0;
  int64_t timed_steps_ = 0;
  int64_t wrong_ = 0;
};

}  // namespace

absl::StatusOr<PushPullRecord> MeasurePushPull(const PushPullPlan& plan, Control& control,
                                               const PushPullSubject& subject) {
  return Measurement(plan, control, subject).Run();
}

}  // namespace crossover::bench
