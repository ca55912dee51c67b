#include "allreduce/choice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include "core/check.h"

namespace crossover::allreduce {
namespace {

// How much slower than the best the preferred algorithm may be.
constexpr double kTie = 1.02;

// A place without its rank.
struct Shape {
  double ranks = 1;       // N
  double floor_log2 = 0;  // p
  double ceil_log2 = 0;   // d
  bool folds = false;     // N > 2^p
  double hosts = 1;       // H
  double most_ranks = 1;  // of a host
  double least_ranks = 1;
  double ring_exits = 1;  // edges r -> r+1 that leave a host, of the host with most
};

Shape ShapeOf(const Place& place) {
  const auto size = static_cast<unsigned>(place.world_size);
  Shape shape{.ranks = static_cast<double>(size),
              .floor_log2 = static_cast<double>(std::bit_width(size) - 1),
              .ceil_log2 = static_cast<double>(std::bit_width(size - 1)),
              .folds = !std::has_single_bit(size)};
  if (place.host_of.empty()) {
    shape.hosts = shape.ranks;
    return shape;
  }
  struct Host {
    double ranks = 0;
    double exits = 0;
  };
  std::map<int, Host> hosts;
  for (unsigned rank = 0; rank < size; ++rank) {
    Host& host = hosts[place.host_of[rank]];
    ++host.ranks;
    host.exits += place.host_of[rank] != place.host_of[(rank + 1) % size];
  }
  shape.hosts = static_cast<double>(hosts.size());
  shape.least_ranks = shape.ranks;
  for (const auto& [name, host] : hosts) {
    shape.most_ranks = std::max(shape.most_ranks, host.ranks);
    shape.least_ranks = std::min(shape.least_ranks, host.ranks);
    shape.ring_exits = std::max(shape.ring_exits, host.exits);
  }
  return shape;
}

// The closed forms of the algorithms' files for even pieces, with M bytes. Each is of the rank that
// needs most: with folding one that has an extra, in trees the root.

Cost Ring(Kind kind, const Shape& shape, double m) {
  const double part = (shape.ranks - 1) / shape.ranks * m;
  if (kind == Kind::kReduceScatter) return {shape.ranks - 1, 0, part, part};
  if (kind == Kind::kAllGather) return {shape.ranks - 1, 0, part, 0};
  return {2 * (shape.ranks - 1), 0, 2 * part, part};
}

Cost Direct(Kind kind, const Shape& shape, double m) {
  Cost cost = Ring(kind, shape, m);
  cost.steps = kind == Kind::kAllReduce ? 2 : 1;
  cost.messages = cost.steps * (shape.ranks - 2);
  return cost;
}

Cost HalvingDoubling(const Shape& shape, double m) {
  const double extra = shape.folds ? m : 0;
  const double part = m - m / std::exp2(shape.floor_log2);
  return {2 * shape.floor_log2 + (shape.folds ? 2 : 0), 0, 2 * part + extra, part + extra};
}

Cost RecursiveDoubling(const Shape& shape, double m) {
  const double bytes = (shape.floor_log2 + (shape.folds ? 1 : 0)) * m;
  return {shape.floor_log2 + (shape.folds ? 2 : 0), 0, bytes, bytes};
}

Cost Exchange(const Shape& shape, double m) {
  const double others = shape.ranks - 1;
  return {1, others - 1, others * m, others * m};
}

Cost Tree(Kind kind, const Shape& shape, double m) {
  const double bytes = shape.ceil_log2 * m;
  return {2 * shape.ceil_log2, 0, bytes, kind == Kind::kAllReduce ? bytes : 0};
}

Costs Hierarchical(const Shape& shape, double m) {
  const double piece = m / shape.least_ranks;
  const double others = shape.most_ranks - 1;
  const double ring = (shape.hosts - 1) / shape.hosts;
  Costs costs;
  costs.within_host = {2, 2 * std::max(0.0, others - 1), m - piece + others * piece,
                       others * piece};
  costs.between_hosts = {2 * (shape.hosts - 1), 0, 2 * ring * m, ring * piece};
  return costs;
}

// How many ranks of a host send to other hosts at the same time, at most.
double Sharing(Algorithm algorithm, const Shape& shape) {
  const bool round = algorithm == Algorithm::kRing || algorithm == Algorithm::kChain;
  return round ? shape.ring_exits : shape.most_ranks;
}

Cost FlatCost(Kind kind, Algorithm algorithm, const Shape& shape, double m) {
  switch (algorithm) {
    case Algorithm::kRing:
      return Ring(kind, shape, m);
    case Algorithm::kHalvingDoubling:
      return HalvingDoubling(shape, m);
    case Algorithm::kRecursiveDoubling:
      return RecursiveDoubling(shape, m);
    case Algorithm::kTree:
      return Tree(kind, shape, m);
    case Algorithm::kDirect:
      return Direct(kind, shape, m);
    case Algorithm::kChain:
      return {shape.ranks, 0, m, 0};
    case Algorithm::kExchange:
      return Exchange(shape, m);
    case Algorithm::kDissemination:
      return {shape.ceil_log2, 0, 0, 0};
    case Algorithm::kHierarchical:
      break;
  }
  CROSSOVER_CHECK(false, "an algorithm without hosts");
  return {};
}

double TimeUs(const Cost& cost, const CostFit& fit) {
  return cost.steps * fit.alpha_us + cost.messages * fit.message_us +
         cost.bytes * fit.beta_us_per_byte + cost.combined_bytes * fit.gamma_us_per_byte;
}

// In the order of preference.
std::vector<Algorithm> Candidates(Kind kind, const Shape& shape) {
  switch (kind) {
    case Kind::kAllReduce:
      if (shape.hosts > 1 && shape.most_ranks > 1) {
        return {Algorithm::kHierarchical,      Algorithm::kRing, Algorithm::kHalvingDoubling,
                Algorithm::kRecursiveDoubling, Algorithm::kTree, Algorithm::kExchange};
      }
      return {Algorithm::kRing, Algorithm::kHalvingDoubling, Algorithm::kRecursiveDoubling,
              Algorithm::kTree, Algorithm::kExchange};
    case Kind::kReduceScatter:
    case Kind::kAllGather:
      return {Algorithm::kRing, Algorithm::kDirect};
    case Kind::kBroadcast:
      return {Algorithm::kChain, Algorithm::kTree};
    case Kind::kBarrier:
      break;
  }
  return {Algorithm::kDissemination};
}

}  // namespace

CostFit DefaultFitOfTcp() {
  return {.alpha_us = 5, .message_us = 4, .beta_us_per_byte = 4e-4, .gamma_us_per_byte = 1e-4};
}

CostFit DefaultFitOfSharedMemory() {
  return {.alpha_us = 0.7, .message_us = 0.2, .beta_us_per_byte = 1e-4, .gamma_us_per_byte = 1e-4};
}

Costs CostsOf(Kind kind, Algorithm algorithm, const Place& place, int64_t bytes) {
  CROSSOVER_CHECK(HasAlgorithm(kind, algorithm), "an algorithm that exists for this kind");
  if (place.world_size == 1) return {};
  const Shape shape = ShapeOf(place);
  const auto m = static_cast<double>(bytes);
  if (algorithm == Algorithm::kHierarchical) return Hierarchical(shape, m);
  Cost cost = FlatCost(kind, algorithm, shape, m);
  if (shape.hosts == 1) return {.between_hosts = {}, .within_host = cost};
  cost.bytes *= Sharing(algorithm, shape);
  return {.between_hosts = cost, .within_host = {}};
}

double TimeUs(const Costs& costs, const CostFit& between_hosts, const CostFit& within_host) {
  return TimeUs(costs.between_hosts, between_hosts) + TimeUs(costs.within_host, within_host);
}

Algorithm Choose(Kind kind, int64_t bytes, const Place& place, const CostFit& between_hosts,
                 const CostFit& within_host) {
  const std::vector<Algorithm> candidates = Candidates(kind, ShapeOf(place));
  std::vector<double> times_us;
  for (const Algorithm algorithm : candidates) {
    times_us.push_back(TimeUs(CostsOf(kind, algorithm, place, bytes), between_hosts, within_host));
  }
  const double best_us = *std::ranges::min_element(times_us);
  size_t chosen = 0;
  while (times_us[chosen] > best_us * kTie) ++chosen;
  return candidates[chosen];
}

Algorithm Choose(Kind kind, int64_t bytes, const Place& place, const CostFit& fit) {
  return Choose(kind, bytes, place, fit, fit);
}

}  // namespace crossover::allreduce
