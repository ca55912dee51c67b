#include "bench/comm/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "experiments/json_archive.h"
#include "experiments/statistics.h"

namespace crossover::bench {

template <typename Archive>
void Fields(Archive& archive, AlphaBeta& fit) {
  archive("transport", fit.transport);
  archive("buffers", fit.buffers);
  archive("op", fit.op);
  archive("algorithm", fit.algorithm);
  archive("alpha_us", fit.alpha_us);
  archive("beta_us_per_MB", fit.beta_us_per_MB);
  archive("points", fit.points);
  archive("error_median", fit.error_median);
}

namespace {

using allreduce::Kind;

struct Point {
  double steps = 0;
  double megabytes = 0;
  double time_us = 0;
};

std::optional<Kind> OpNamed(const std::string& word) {
  for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                          Kind::kBroadcast, Kind::kBarrier}) {
    if (word == WordFor(kind)) return kind;
  }
  return std::nullopt;
}

// Minimises the sum of ((alpha s + beta m - t) / t)^2.
void Solve(const std::vector<Point>& points, AlphaBeta& fit) {
  double ss = 0, sm = 0, mm = 0, s = 0, m = 0;
  for (const Point& point : points) {
    const double steps = point.steps / point.time_us;
    const double megabytes = point.megabytes / point.time_us;
    ss += steps * steps;
    sm += steps * megabytes;
    mm += megabytes * megabytes;
    s += steps;
    m += megabytes;
  }
  const double determinant = ss * mm - sm * sm;
  if (determinant > 1e-12 * ss * mm) {
    fit.alpha_us = (s * mm - m * sm) / determinant;
    fit.beta_us_per_MB = (m * ss - s * sm) / determinant;
  } else {  // nothing but steps, as a barrier
    fit.alpha_us = s / ss;
  }
  // At the edge of what is allowed the other constant is alone.
  if (fit.alpha_us <= 0) {
    fit.alpha_us = 0;
    fit.beta_us_per_MB = mm > 0 ? m / mm : 0;
  } else if (fit.beta_us_per_MB <= 0) {
    fit.beta_us_per_MB = 0;
    fit.alpha_us = s / ss;
  }
  std::vector<double> errors;
  for (const Point& point : points) {
    const double model = fit.alpha_us * point.steps + fit.beta_us_per_MB * point.megabytes;
    errors.push_back(std::abs(model / point.time_us - 1));
  }
  fit.error_median = experiments::Median(std::move(errors));
}

}  // namespace

Work WorkOf(Kind op, allreduce::Algorithm algorithm, int ranks, int64_t bytes) {
  Work work;
  const int64_t length = bytes / ranks * ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const allreduce::Schedule schedule = allreduce::MakeSchedule(
        op, algorithm, {.rank = rank, .world_size = ranks, .root = 0, .host_of = {}}, length);
    int64_t sent = 0;
    int64_t received = 0;
    for (const allreduce::Step& step : schedule) {
      for (const allreduce::Transfer& send : step.sends) sent += send.segment.length;
      for (const allreduce::Transfer& receive : step.receives) received += receive.segment.length;
    }
    work.steps = std::max(work.steps, static_cast<double>(schedule.size()));
    work.bytes = std::max(work.bytes, static_cast<double>(std::max(sent, received)));
  }
  return work;
}

std::vector<AlphaBeta> FitAlphaBeta(const std::vector<Record>& records) {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, std::vector<Point>> points;
  std::map<Key, std::set<int64_t>> sizes;
  for (const Record& record : records) {
    const std::optional<Kind> op = OpNamed(record.op);
    const std::optional<allreduce::Algorithm> algorithm =
        allreduce::AlgorithmNamed(record.algorithm);
    if (record.library != "crossover" || !op || !algorithm || record.ranks < 2) continue;
    if (record.time_us <= 0) continue;
    const Work work = WorkOf(*op, *algorithm, static_cast<int>(record.ranks), record.bytes);
    const Key key = {record.transport, record.buffers, record.op, record.algorithm};
    points[key].push_back({work.steps, work.bytes * 1e-6, record.time_us});
    sizes[key].insert(record.bytes);
  }
  std::vector<AlphaBeta> fits;
  for (const auto& [key, measured] : points) {
    if (sizes[key].size() < 2 && std::get<2>(key) != WordFor(Kind::kBarrier)) continue;
    AlphaBeta fit;
    std::tie(fit.transport, fit.buffers, fit.op, fit.algorithm) = key;
    fit.points = static_cast<int64_t>(measured.size());
    Solve(measured, fit);
    fits.push_back(fit);
  }
  return fits;
}

std::string WriteFits(const std::vector<AlphaBeta>& fits) {
  std::string text;
  for (const AlphaBeta& fit : fits) absl::StrAppend(&text, experiments::WriteJson(fit), "\n");
  return text;
}

}  // namespace crossover::bench
