#include "allreduce/algorithms.h"

#include <array>

#include "allreduce/algorithms/builders.h"
#include "core/check.h"

namespace crossover::allreduce {
namespace {

// One line for each kind and algorithm. Why sent bytes may be borrowed, or not, is argued in the
// algorithm's file and checked by the simulator.
struct Row {
  Kind kind;
  Algorithm algorithm;
  Schedule (*make)(const Place&, int64_t length);
  bool safe_to_borrow;
};
constexpr std::array kTable = {
    Row{Kind::kAllReduce, Algorithm::kRing, RingAllReduce, true},
    Row{Kind::kAllReduce, Algorithm::kHalvingDoubling, HalvingDoublingAllReduce, true},
    Row{Kind::kAllReduce, Algorithm::kRecursiveDoubling, RecursiveDoublingAllReduce, false},
    Row{Kind::kAllReduce, Algorithm::kTree, TreeAllReduce, true},
    Row{Kind::kAllReduce, Algorithm::kDirect, DirectAllReduce, true},
    Row{Kind::kAllReduce, Algorithm::kHierarchical, HierarchicalAllReduce, true},
    Row{Kind::kAllReduce, Algorithm::kExchange, ExchangeAllReduce, false},
    Row{Kind::kReduceScatter, Algorithm::kRing, RingReduceScatter, true},
    Row{Kind::kReduceScatter, Algorithm::kDirect, DirectReduceScatter, true},
    Row{Kind::kAllGather, Algorithm::kRing, RingAllGather, true},
    Row{Kind::kAllGather, Algorithm::kDirect, DirectAllGather, true},
    Row{Kind::kBroadcast, Algorithm::kChain, ChainBroadcast, true},
    Row{Kind::kBroadcast, Algorithm::kTree, TreeBroadcast, true},
    Row{Kind::kBarrier, Algorithm::kDissemination, DisseminationBarrier, true},
};

constexpr std::array kAlgorithms = {
    Algorithm::kRing,  Algorithm::kHalvingDoubling, Algorithm::kRecursiveDoubling,
    Algorithm::kTree,  Algorithm::kDirect,          Algorithm::kHierarchical,
    Algorithm::kChain, Algorithm::kDissemination,   Algorithm::kExchange,
};

const Row* FindRow(Kind kind, Algorithm algorithm) {
  for (const Row& row : kTable) {
    if (row.kind == kind && row.algorithm == algorithm) return &row;
  }
  return nullptr;
}

const Row& RowOf(Kind kind, Algorithm algorithm) {
  const Row* const found = FindRow(kind, algorithm);
  CROSSOVER_CHECK(found != nullptr, "an algorithm that exists for this kind");
  return *found;
}

}  // namespace

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kAllReduce:
      return "AllReduce";
    case Kind::kReduceScatter:
      return "ReduceScatter";
    case Kind::kAllGather:
      return "AllGather";
    case Kind::kBroadcast:
      return "Broadcast";
    case Kind::kBarrier:
      return "Barrier";
  }
  return "unknown collective";
}

const char* NameOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kHalvingDoubling:
      return "halving_doubling";
    case Algorithm::kRecursiveDoubling:
      return "recursive_doubling";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kDirect:
      return "direct";
    case Algorithm::kHierarchical:
      return "hierarchical";
    case Algorithm::kChain:
      return "chain";
    case Algorithm::kDissemination:
      return "dissemination";
    case Algorithm::kExchange:
      return "exchange";
  }
  return "unknown algorithm";
}

std::optional<Algorithm> AlgorithmNamed(std::string_view name) {
  for (const Algorithm algorithm : kAlgorithms) {
    if (name == NameOf(algorithm)) return algorithm;
  }
  return std::nullopt;
}

bool HasBlocks(Kind kind) { return kind == Kind::kReduceScatter || kind == Kind::kAllGather; }

bool HasAlgorithm(Kind kind, Algorithm algorithm) { return FindRow(kind, algorithm) != nullptr; }

std::vector<Algorithm> AlgorithmsOf(Kind kind) {
  std::vector<Algorithm> algorithms;
  for (const Row& row : kTable) {
    if (row.kind == kind) algorithms.push_back(row.algorithm);
  }
  return algorithms;
}

bool SafeToBorrow(Kind kind, Algorithm algorithm) { return RowOf(kind, algorithm).safe_to_borrow; }

Schedule MakeSchedule(Kind kind, Algorithm algorithm, const Place& place, int64_t length) {
  const Row& row = RowOf(kind, algorithm);
  CROSSOVER_CHECK(place.rank >= 0 && place.rank < place.world_size, "a rank of the world");
  CROSSOVER_CHECK(place.root >= 0 && place.root < place.world_size, "a root of the world");
  CROSSOVER_CHECK(length >= 0, "a length");
  CROSSOVER_CHECK(
      place.host_of.empty() || place.host_of.size() == static_cast<size_t>(place.world_size),
      "a host for each rank");
  if (kind == Kind::kReduceScatter || kind == Kind::kAllGather) {
    CROSSOVER_CHECK(length % place.world_size == 0, "a block for each rank, all of one length");
  }
  if (place.world_size == 1) return {};
  return row.make(place, length);
}

}  // namespace crossover::allreduce
