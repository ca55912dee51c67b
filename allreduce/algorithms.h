// The algorithms: each a pure function from a rank's place to its schedule. Every one states its
// steps and the bytes that a rank sends (it receives as many unless stated), of a working buffer
// of M bytes on N ranks, in its file under allreduce/algorithms; tests hold them to it, and
// docs/ALGORITHMS.md sets them side by side. 0 <= rank < world_size, length >= 0 (CHECK).
// A world of one rank has an empty schedule.
#ifndef CROSSOVER_ALLREDUCE_ALGORITHMS_H_
#define CROSSOVER_ALLREDUCE_ALGORITHMS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allreduce/schedule.h"

namespace crossover::allreduce {

enum class Kind : uint8_t {
  kAllReduce = 1,      // working buffer: the values
  kReduceScatter = 2,  // working buffer: all N blocks; rank r ends with block r reduced
  kAllGather = 3,      // working buffer: all N blocks; rank r begins with block r
  kBroadcast = 4,      // from the root
  kBarrier = 5,        // no values
};

// The numbers travel in frames: they never change their meaning.
enum class Algorithm : uint8_t {
  kRing = 1,
  kHalvingDoubling = 2,
  kRecursiveDoubling = 3,
  kTree = 4,
  kDirect = 5,
  kHierarchical = 6,
  kChain = 7,
  kDissemination = 8,
  kExchange = 9,
};

const char* NameOf(Kind kind);            // "AllReduce", ...
const char* NameOf(Algorithm algorithm);  // "ring", "halving_doubling", ...
std::optional<Algorithm> AlgorithmNamed(std::string_view name);
// Whether its buffers are of N blocks, one a rank.
bool HasBlocks(Kind kind);
bool HasAlgorithm(Kind kind, Algorithm algorithm);
// Which algorithms exist for a kind, the order is of no meaning:
//   AllReduce      ring, halving_doubling, recursive_doubling, tree, direct, hierarchical,
//                  exchange
//   ReduceScatter  ring, direct          AllGather  ring, direct
//   Broadcast      chain, tree           Barrier    dissemination
std::vector<Algorithm> AlgorithmsOf(Kind kind);

struct Place {
  int rank = 0;
  int world_size = 1;
  int root = 0;  // of a Broadcast
  // host_of[r]: the host that rank r is on, any numbers; empty: all on hosts of their own. Used by
  // hierarchical alone.
  std::vector<int> host_of = {};
};

// Into how many pieces hierarchical cuts the buffer: as many ranks as the smallest host has. The
// first so many ranks of every host own one each.
int PiecesOfHierarchical(const Place& place);

// Whether, within the schedule, bytes that were sent are only overwritten after their receiver has
// them, so that they need not be copied (net::SendMode::kBorrow): what overwrites them could not
// have come otherwise. Says nothing of what the caller does to the buffer after the collective.
// False for recursive doubling and exchange; each algorithm's file has the argument.
bool SafeToBorrow(Kind kind, Algorithm algorithm);

// `length`: values of the working buffer; for ReduceScatter and AllGather a multiple of N.
Schedule MakeSchedule(Kind kind, Algorithm algorithm, const Place& place, int64_t length);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_ALGORITHMS_H_
