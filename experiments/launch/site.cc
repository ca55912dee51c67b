#include "experiments/launch/site.h"

#include <set>
#include <utility>

namespace crossover::experiments {

const Site& Sites::Of(net::Role role, int rank) const {
  const std::vector<Site>& sites = role == net::Role::kWorker ? workers : servers;
  return sites[static_cast<size_t>(rank) % sites.size()];
}

Sites OneMachine(const std::string& address) {
  Site site;
  site.address = address;
  return {.launcher = site, .workers = {site}, .servers = {site}};
}

Sites PlaceOnNodes(Site launcher, std::vector<Site> worker_nodes, std::vector<Site> server_nodes,
                   proto::Comparison::Placement placement) {
  Sites sites;
  sites.launcher = std::move(launcher);
  const bool colocated = placement == proto::Comparison::colocated || server_nodes.empty();
  sites.servers = colocated ? worker_nodes : std::move(server_nodes);
  sites.workers = std::move(worker_nodes);
  return sites;
}

int NodesUsed(const Sites& sites, int workers, int servers) {
  std::set<std::string> nodes;
  for (int rank = 0; rank < workers; ++rank) nodes.insert(sites.Of(net::Role::kWorker, rank).node);
  for (int rank = 0; rank < servers; ++rank) nodes.insert(sites.Of(net::Role::kServer, rank).node);
  return static_cast<int>(nodes.size());
}

}  // namespace crossover::experiments
