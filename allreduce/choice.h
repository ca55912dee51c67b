// Which algorithm a collective should use: the cheapest by the alpha-beta-gamma model, from a fit
// to the transport and the closed forms of the schedules. Pure, thread-safe; the answer depends on
// arguments alone that are equal on all ranks, and not on Place::rank.
#ifndef CROSSOVER_ALLREDUCE_CHOICE_H_
#define CROSSOVER_ALLREDUCE_CHOICE_H_

#include <cstdint>

#include "allreduce/algorithms.h"

namespace crossover::allreduce {

// What a transport costs. All >= 0.
struct CostFit {
  double alpha_us = 0;           // a step: a message's latency and both ends' handling of it
  double message_us = 0;         // each further message of a rank in the same step
  double beta_us_per_byte = 0;   // of one direction of a rank's link: 1 / bandwidth
  double gamma_us_per_byte = 0;  // to combine received bytes with ours
};

// Shipped defaults: orders of magnitude on a machine of two cores, where nothing was measured.
CostFit DefaultFitOfTcp();
CostFit DefaultFitOfSharedMemory();

// What a schedule needs, of the rank that needs most; between hosts, `bytes` are of the host that
// needs most. Byte streams are pipelined, so steps cost latency, and bytes cost bandwidth once.
struct Cost {
  double steps = 0;
  double messages = 0;        // beyond one a step
  double bytes = 0;           // sent or received, whichever is more
  double combined_bytes = 0;  // received, to be combined
};
struct Costs {
  Cost between_hosts;  // 0 where all ranks are on one host
  Cost within_host;    // 0 where ranks are on several hosts, but of hierarchical both
};
// `bytes`: of the working buffer. The algorithm exists for the kind (CHECK).
Costs CostsOf(Kind kind, Algorithm algorithm, const Place& place, int64_t bytes);

double TimeUs(const Costs& costs, const CostFit& between_hosts, const CostFit& within_host);

// The algorithm with the least TimeUs. Within 2% of it the preferred one: hierarchical, a ring or
// chain, which keep their links evenly busy; so they carry large buffers. `direct` AllReduce is
// deterministic mode's and never chosen; hierarchical only where there are several hosts and one
// has several ranks.
Algorithm Choose(Kind kind, int64_t bytes, const Place& place, const CostFit& between_hosts,
                 const CostFit& within_host);
// Where one transport carries all.
Algorithm Choose(Kind kind, int64_t bytes, const Place& place, const CostFit& fit);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_CHOICE_H_
