// Who takes part in a run, as the rendezvous publishes it. Plain values.
#ifndef CROSSOVER_NET_ROSTER_H_
#define CROSSOVER_NET_ROSTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/rendezvous.pb.h"

namespace crossover::net {

struct RosterMember {
  int rank = 0;
  std::string data_address;
  std::string unix_socket = {};  // its name; "" if it has none
};
struct Roster {
  std::vector<RosterMember> workers;  // by rank
  std::vector<RosterMember> servers;  // by rank
  bool hosted_by_worker_0 = false;    // the rendezvous; else by a launcher
};

// Refuses a message whose ranks are not 0, 1, ... of the role that the list is for,
// or in which a data address is neither empty nor host:port, or a Unix socket has no name that one
// may have.
absl::StatusOr<Roster> ReadRoster(const proto::Roster& message);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ROSTER_H_
