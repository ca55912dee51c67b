// Whether the members of a run can reach each other at the addresses that they
// advertise, as far as the rendezvous can tell: it knows these and where each join came
// from. Pure; thread-safe.
#ifndef CROSSOVER_NET_REACHABILITY_H_
#define CROSSOVER_NET_REACHABILITY_H_

#include <span>
#include <string>

#include "absl/status/status.h"

namespace crossover::net {

struct MemberAddresses {
  std::string name;          // "worker 2"
  std::string data_address;  // that it advertises, host:port; "" if nobody connects to it
  std::string peer;          // that its join came from, host:port
};

// Refuses an address that no peer can connect to (0.0.0.0, multicast, link-local).
// INVALID_ARGUMENT with the fix. `member` has a data address.
absl::Status CheckAdvertised(const MemberAddresses& member);

// Refuses a member that advertises loopback in a run of several hosts: another one
// advertises an address beyond loopback, or joined from another host. The first such
// member and another one are named, with the fix (FAILED_PRECONDITION).
absl::Status CheckReachable(std::span<const MemberAddresses> members);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_REACHABILITY_H_
