#include "core/divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/strategy_traits.h"

namespace crossover {
namespace {

constexpr char kDiverged[] = " diverged in step ";

std::string Advice(const proto::Job& job) {
  std::string advice =
      absl::StrFormat("a lower --learning_rate.base (it is %g)", job.learning_rate().base());
  const bool stale = TraitsOf(job).update_per_push;
  if (job.strategy() == proto::Strategy::ps_ssp) {
    absl::StrAppend(&advice, ", or a smaller --ps.staleness_bound (it is ",
                    job.ps().staleness_bound(), ")");
  } else if (stale) {
    absl::StrAppend(&advice, ", or a bound on the staleness: ps_ssp");
  }
  if (stale && job.ps().push_rate() == proto::ParameterServer::full) {
    absl::StrAppend(&advice, ", or --ps.push_rate=by_workers");
  }
  return advice;
}

}  // namespace

std::string DivergenceWatch::Add(double loss) {
  if (!std::isfinite(loss)) return absl::StrCat("its loss is ", loss);
  if (rule_.loss_multiple() == 0) return "";
  window_.push_back(loss);
  const auto window = static_cast<size_t>(rule_.window_steps());
  if (window_.size() < window) return "";
  if (window_.size() > window) window_.pop_front();
  const double mean =
      std::accumulate(window_.begin(), window_.end(), 0.0) / static_cast<double>(window);
  if (mean > rule_.loss_multiple() * lowest_mean_) {
    return absl::StrFormat(
        "its mean loss over the last %d steps is %.4g, %.3g times its lowest, %.4g", window, mean,
        mean / lowest_mean_, lowest_mean_);
  }
  lowest_mean_ = std::min(lowest_mean_, mean);
  return "";
}

absl::Status DivergenceError(const proto::Job& job, int rank, int64_t step, const std::string& what,
                             const StrategyCounters& counters) {
  const std::string staleness =
      TraitsOf(job).servers
          ? absl::StrCat("; the largest staleness that it has seen is ", counters.staleness_max)
          : "";
  return absl::FailedPreconditionError(absl::StrCat("worker ", rank, kDiverged, step, ": ", what,
                                                    staleness, "; fix: ", Advice(job)));
}

bool SaysDiverged(std::string_view reason) {
  return reason.find(kDiverged) != std::string_view::npos;
}

}  // namespace crossover
