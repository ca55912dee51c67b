// Which flows a probe of the lab runs at once, and what the links promise it. Pure.
//
// Nodes of one rate: a ring, each sends to the next and receives from the one before, so
// every link is full in both directions. Nodes of different rates: each slower node with
// each of the fastest, both ways, as workers with servers; the faster links then carry what
// the slower ones can use of them.
#ifndef CROSSOVER_LAB_PROBE_PLAN_H_
#define CROSSOVER_LAB_PROBE_PLAN_H_

#include <vector>

namespace crossover::lab {

struct ProbeFlow {
  int from = 0;
  int to = 0;
  bool operator==(const ProbeFlow&) const = default;
};

// rates: of each node's link, in one unit; 0: not limited (counts as the fastest).
std::vector<ProbeFlow> ProbeFlows(const std::vector<double>& rates);

// Max-min fair rates of the flows (Bertsekas and Gallager, Data Networks, 6.5.2): all grow
// alike until a link is full; its flows stay, the others grow on. A flow over unlimited
// links alone has rate 0.
std::vector<double> MaxMinRates(const std::vector<ProbeFlow>& flows,
                                const std::vector<double>& rates);

struct PromisedRate {
  double send = 0;
  double receive = 0;
};

// The rate of each link direction that the flows fill; 0 where they do not, or where the
// link is not limited: nothing is promised then, since TCP does not share evenly.
std::vector<PromisedRate> PromisedRates(const std::vector<ProbeFlow>& flows,
                                        const std::vector<double>& rates);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_PROBE_PLAN_H_
