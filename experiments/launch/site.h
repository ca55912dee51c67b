// Where the processes of a run live: the launcher and every rank have a site. On one
// machine all share one; in the network lab a site is a node; servers lie on nodes of
// their own or on the workers'. Pure.
#ifndef CROSSOVER_EXPERIMENTS_LAUNCH_SITE_H_
#define CROSSOVER_EXPERIMENTS_LAUNCH_SITE_H_

#include <string>
#include <vector>

#include "net/identity.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

struct Site {
  std::string node;                   // what reports call it: "worker0"; "" is this machine
  std::string address = "127.0.0.1";  // on which a process there listens
  std::string network_namespace;      // in which it runs; "" is the launcher's own
  int host = -1;                      // of several RunHosts; -1: the launcher's machine
};

struct Sites {
  Site launcher;
  // By rank; rank r is at [r modulo size], so one entry serves any number of ranks.
  std::vector<Site> workers = {Site()};
  std::vector<Site> servers = {Site()};

  const Site& Of(net::Role role, int rank) const;
};

// Everything on one machine, listening on `address`.
Sites OneMachine(const std::string& address);

// Worker r on worker_nodes[r]. Dedicated: server s on server_nodes[s]; colocated: on
// worker_nodes[s modulo workers]. Neither list is empty where ranks need it.
Sites PlaceOnNodes(Site launcher, std::vector<Site> worker_nodes, std::vector<Site> server_nodes,
                   proto::Comparison::Placement placement);

// How many different nodes so many processes occupy.
int NodesUsed(const Sites& sites, int workers, int servers);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_LAUNCH_SITE_H_
