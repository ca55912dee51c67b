// The hosts that a comparison may use, as a text: one a line.
//
//   # comments and blank lines are passed over
//   10.0.0.1                            a worker or a server
//   10.0.0.2  slots=4 role=worker       four processes, workers only
//   ps-1      role=server user=ann port=2222 interface=10.0.0.0/8
//
// ADDRESS is what ssh is called with: a name, an address, or a Host of ~/.ssh/config.
// slots: processes that may run there (1); role: worker, server or any (any); user and
// port: ssh's (what its configuration says); interface: where the processes listen, as
// --interface (the address that ssh reached). Pure; thread-safe.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_HOST_FILE_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_HOST_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace crossover::experiments {

enum class HostRole { kAny, kWorker, kServer };

struct HostSpec {
  std::string address;
  int slots = 1;
  HostRole role = HostRole::kAny;
  std::string user;       // "": as ssh's configuration says
  int port = 0;           // 0: the same
  std::string interface;  // "": the address that ssh reached
  std::string where;      // "hosts:3", for messages
};

inline constexpr int kHostsMax = 256;
inline constexpr int kSlotsMax = 1024;

// `name` is the file's, for errors: "hosts:3: slots=0; allowed: 1 to 1024". No two lines
// have the same address, user and port. At least one host.
absl::StatusOr<std::vector<HostSpec>> ParseHosts(absl::string_view text, absl::string_view name);

// By rank, an index into the hosts.
struct HostPlacement {
  std::vector<int> workers;
  std::vector<int> servers;
  // What was asked for, or dedicated where the file gives hosts to servers alone.
  proto::Comparison::Placement placement = proto::Comparison::colocated;
};

// Workers fill the slots of hosts for workers, in order. Colocated: server s is on worker
// s modulo workers's host, beside it (it takes no slot). Dedicated: servers fill the slots of
// hosts for servers alone, then of hosts for any that have no worker. Too few slots: an error
// with the counts and the fix.
absl::StatusOr<HostPlacement> PlaceOnHosts(const std::vector<HostSpec>& hosts, int workers,
                                           int servers, proto::Comparison::Placement placement);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_HOST_FILE_H_
