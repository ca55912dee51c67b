// The meeting point of one run: collects members, publishes the roster, releases
// barriers, watches for losses and tells everyone when one happens. Hosted by the
// compare binary, or by worker 0 where a run is started by hand. The rules are
// net/membership.h's.
#ifndef CROSSOVER_NET_RENDEZVOUS_SERVER_H_
#define CROSSOVER_NET_RENDEZVOUS_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/identity.h"
#include "net/membership.h"

namespace crossover::net {

// Thread-safe. Destruction aborts a run that has not ended and ends all streams; it
// takes at most about two seconds.
class RendezvousServer {
 public:
  struct Options {
    std::string address = "127.0.0.1:0";
    Identity identity;  // token and fingerprint; role and rank are not used
    int workers = 1;
    int servers = 0;
    double join_s = 60;  // then the run is aborted, the missing named
    double loss_s = 10;  // silence of a member that counts as its loss; a broken
                         // stream counts at once
    // Told to the members, who else would miss only a rendezvous when worker 0 dies.
    bool hosted_by_worker_0 = false;
  };
  // Errors: a taken port or an address that is not this host's (named), options
  // that make no run. `clock` must outlive the server.
  static absl::StatusOr<std::unique_ptr<RendezvousServer>> Start(const Options& options,
                                                                 const Clock& clock);
  ~RendezvousServer();

  std::string address() const;  // with the port that was bound
  // Workers by rank, then servers by rank.
  std::vector<MemberState> members() const;
  // Aborts the run for everyone (a process that never started). The first abort wins.
  void Abort(Role role, int rank, const std::string& address, const std::string& reason);
  // The same for a reason that concerns no one member (a signal): it is the whole line.
  void Abort(const std::string& reason);
  // The first abort's status, or OK.
  absl::Status status() const;
  // Blocks until all members have left in good order (true), the run is aborted
  // and every stream has ended (true), or the time is over (false).
  bool WaitForEnd(double seconds);

 private:
  class Impl;
  explicit RendezvousServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_RENDEZVOUS_SERVER_H_
