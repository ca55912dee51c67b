#include "bench/comm/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "allreduce/choice_ranges.h"
#include "bench/comm/test_plan.h"
#include "core/status.h"
#include "core/transport_costs.h"
#include "experiments/results/json_archive.h"
#include "experiments/results/statistics.h"

namespace crossover::bench {

template <typename Archive>
void Fields(Archive& archive, Fit& fit) {
  archive("network", fit.network);
  archive("transport", fit.transport);
  archive("host", fit.host);
  archive("alpha_us", fit.costs.alpha_us);
  archive("message_us", fit.costs.message_us);
  archive("beta_us_per_byte", fit.costs.beta_us_per_byte);
  archive("gamma_us_per_byte", fit.costs.gamma_us_per_byte);
  archive("points", fit.points);
  archive("error_median", fit.error_median);
}

namespace {

using allreduce::Kind;

constexpr size_t kConstants = 4;
constexpr int kSweeps = 20'000;
using Constants = std::array<double, kConstants>;

// Of one measured time: how often it holds each constant.
struct Point {
  Constants counts{};
  double time_us = 0;
};

// Nothing of what no schedule of this transport carried.
std::optional<Point> PointOf(const Record& record) {
  const std::optional<Kind> op = OpNamed(record.op);
  const std::optional<allreduce::Algorithm> algorithm = allreduce::AlgorithmNamed(record.algorithm);
  if (record.library != "crossover" || !op || !algorithm || record.ranks < 2) return std::nullopt;
  if (record.time_us <= 0 || !allreduce::HasAlgorithm(*op, *algorithm)) return std::nullopt;
  // Ranks of one node talk through memory.
  if (record.ranks_per_node > 1) return std::nullopt;
  const allreduce::Place place = {
      .rank = 0, .world_size = static_cast<int>(record.ranks), .root = 0, .host_of = {}};
  // Every rank passes for a host of its own: all of the cost is that of the transport.
  const allreduce::Cost cost =
      allreduce::CostsOf(*op, *algorithm, place, record.bytes).between_hosts;
  return Point{{cost.steps, cost.messages, cost.bytes, cost.combined_bytes}, record.time_us};
}

// Minimises the sum of ((counts . constants - time) / time)^2 over constants >= 0, one constant
// after the other, again and again: the function is convex. Counts are scaled alike first.
Constants Solve(const std::vector<Point>& points) {
  Constants scale{};
  for (const Point& point : points) {
    for (size_t i = 0; i < kConstants; ++i) {
      scale[i] += std::pow(point.counts[i] / point.time_us, 2);
    }
  }
  for (double& each : scale) each = each > 0 ? 1 / std::sqrt(each) : 0;
  std::array<Constants, kConstants> products{};
  Constants targets{};
  for (const Point& point : points) {
    for (size_t i = 0; i < kConstants; ++i) {
      const double share = point.counts[i] / point.time_us * scale[i];
      targets[i] += share;
      for (size_t j = 0; j < kConstants; ++j) {
        products[i][j] += share * point.counts[j] / point.time_us * scale[j];
      }
    }
  }
  Constants constants{};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t i = 0; i < kConstants; ++i) {
      if (products[i][i] <= 0) continue;
      double rest = targets[i];
      for (size_t j = 0; j < kConstants; ++j) {
        if (j != i) rest -= products[i][j] * constants[j];
      }
      constants[i] = std::max(0.0, rest / products[i][i]);
    }
  }
  for (size_t i = 0; i < kConstants; ++i) constants[i] *= scale[i];
  return constants;
}

double MedianError(const std::vector<Point>& points, const Constants& constants) {
  std::vector<double> errors;
  for (const Point& point : points) {
    double model = 0;
    for (size_t i = 0; i < kConstants; ++i) model += point.counts[i] * constants[i];
    errors.push_back(std::abs(model / point.time_us - 1));
  }
  return experiments::Median(std::move(errors));
}

}  // namespace

std::vector<Fit> FitCosts(const std::vector<Record>& records) {
  std::map<std::pair<std::string, std::string>, std::vector<Point>> measured;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> hosts;
  for (const Record& record : records) {
    if (const std::optional<Point> point = PointOf(record)) {
      measured[{record.network, record.transport}].push_back(*point);
      if (!record.host.empty()) hosts[{record.network, record.transport}].insert(record.host);
    }
  }
  std::vector<Fit> fits;
  for (const auto& [where, points] : measured) {
    const Constants constants = Solve(points);
    Fit fit;
    std::tie(fit.network, fit.transport) = where;
    fit.host = absl::StrJoin(hosts[where], ", ");
    fit.costs = {.alpha_us = constants[0],
                 .message_us = constants[1],
                 .beta_us_per_byte = constants[2],
                 .gamma_us_per_byte = constants[3]};
    fit.points = static_cast<int64_t>(points.size());
    fit.error_median = MedianError(points, constants);
    fits.push_back(fit);
  }
  return fits;
}

std::string WriteFits(const std::vector<Fit>& fits) {
  std::string text;
  for (const Fit& fit : fits) absl::StrAppend(&text, experiments::WriteJson(fit), "\n");
  return text;
}

absl::Status CheckFits(const std::vector<Fit>& fits, const std::string& file) {
  if (fits.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--fit=", file, ": nothing to fit: no algorithm ran between ranks; fix: ",
                     "--transport=tcp or grpc, and at least two ranks"));
  }
  for (const Fit& fit : fits) {  // by itself: fits of several networks are for a reader to choose
    const absl::Status status = ParseFit(WriteFits({fit}), file).status();
    RETURN_IF_ERROR(Annotate(status, absl::StrCat("not written, for ", fit.transport, ": ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<allreduce::CostFit> CostsIn(const std::string& text, const std::string& file,
                                           const std::string& transport) {
  ASSIGN_OR_RETURN(const std::vector<proto::TransportCosts> fits, ParseFit(text, file));
  std::vector<std::string> known;
  for (const proto::TransportCosts& costs : fits) {
    if (costs.transport() == transport) return allreduce::FitOf(costs);
    known.push_back(costs.transport());
  }
  return absl::NotFoundError(
      absl::StrCat(file, ": no fit of ", transport, ", only of ", absl::StrJoin(known, ", "),
                   "; fix: comm_test --transport=", transport, " --fit=FILE"));
}

}  // namespace crossover::bench
