#include "lab/probe_plan.h"

#include <algorithm>
#include <limits>

namespace crossover::lab {
namespace {

// One direction of one node's link.
struct Link {
  double left = std::numeric_limits<double>::infinity();
  int growing = 0;  // flows over it that still grow
};

}  // namespace

std::vector<ProbeFlow> ProbeFlows(const std::vector<double>& rates) {
  const int nodes = static_cast<int>(rates.size());
  std::vector<ProbeFlow> flows;
  if (nodes < 2) return flows;
  const auto slower = [&](double a, double b) { return b == 0 ? a != 0 : a != 0 && a < b; };
  const double fastest = *std::max_element(rates.begin(), rates.end(), slower);
  for (int from = 0; from < nodes; ++from) {
    for (int to = 0; to < nodes; ++to) {
      if ((rates[from] == fastest) != (rates[to] == fastest)) flows.push_back({from, to});
    }
  }
  if (!flows.empty()) return flows;
  for (int from = 0; from < nodes; ++from) flows.push_back({from, (from + 1) % nodes});
  return flows;
}

std::vector<double> MaxMinRates(const std::vector<ProbeFlow>& flows,
                                const std::vector<double>& rates) {
  std::vector<Link> send(rates.size()), receive(rates.size());
  for (size_t node = 0; node < rates.size(); ++node) {
    if (rates[node] > 0) send[node].left = receive[node].left = rates[node];
  }
  for (const ProbeFlow& flow : flows) {
    ++send[flow.from].growing;
    ++receive[flow.to].growing;
  }
  std::vector<double> result(flows.size(), 0);
  std::vector<bool> grows(flows.size(), true);
  while (true) {
    double step = std::numeric_limits<double>::infinity();
    for (const auto* links : {&send, &receive}) {
      for (const Link& link : *links) {
        if (link.growing > 0) step = std::min(step, link.left / link.growing);
      }
    }
    if (step == std::numeric_limits<double>::infinity()) return result;
    for (size_t i = 0; i < flows.size(); ++i) {
      if (!grows[i]) continue;
      result[i] += step;
      send[flows[i].from].left -= step;
      receive[flows[i].to].left -= step;
    }
    constexpr double kFull = 1e-9;  // of the link's rate, against rounding
    for (size_t i = 0; i < flows.size(); ++i) {
      const auto [from, to] = flows[i];
      const bool full = (rates[from] > 0 && send[from].left <= kFull * rates[from]) ||
                        (rates[to] > 0 && receive[to].left <= kFull * rates[to]);
      if (!grows[i] || !full) continue;
      grows[i] = false;
      --send[from].growing;
      --receive[to].growing;
    }
  }
}

std::vector<PromisedRate> PromisedRates(const std::vector<ProbeFlow>& flows,
                                        const std::vector<double>& rates) {
  const std::vector<double> shares = MaxMinRates(flows, rates);
  std::vector<PromisedRate> promised(rates.size());
  for (size_t i = 0; i < flows.size(); ++i) {
    promised[flows[i].from].send += shares[i];
    promised[flows[i].to].receive += shares[i];
  }
  constexpr double kFilled = 1 - 1e-6;
  for (size_t node = 0; node < rates.size(); ++node) {
    for (double* rate : {&promised[node].send, &promised[node].receive}) {
      *rate = rates[node] > 0 && *rate >= kFilled * rates[node] ? rates[node] : 0;
    }
  }
  return promised;
}

}  // namespace crossover::lab
