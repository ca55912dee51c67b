// A process's part in a run, from the join to the leave, for processes that work with each other:
// the meeting point where this process is it, the membership, the one reason for which the run is
// over, and who hears of it.
#ifndef CROSSOVER_PROCESS_MEMBERSHIP_SESSION_H_
#define CROSSOVER_PROCESS_MEMBERSHIP_SESSION_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/identity.h"
#include "net/rendezvous_client.h"
#include "net/rendezvous_server.h"

namespace crossover::process {

// Run on one thread, once, with what its work calls; Stop and aborted from any.
class MembershipSession {
 public:
  struct Options {
    net::Identity identity;  // role and rank are this process's
    std::string rendezvous_address;
    bool hosts_rendezvous = false;  // rank 0 of a run that was started by hand
    int workers = 1;                // of the run, and so of its roster
    int servers = 0;
    double join_s = 60;  // as RendezvousClient's
    double loss_s = 10;
    // Called at most once, from any thread, when the run is over before its end; may be empty. It
    // must not call the session.
    std::function<void(const absl::Status&)> on_abort;
  };
  // `clock` outlives the session.
  MembershipSession(Options options, const Clock& clock);

  // Calls `listen` once the meeting point stands (it returns where peers reach this process, "" if
  // nowhere), joins, calls `work`, and leaves; a meeting point stays until the others have left. An
  // error of `work` ends the run for everyone. Blocks to the end. Errors: as everybody hears it,
  // one line that names who failed and why.
  absl::Status Run(const std::function<absl::StatusOr<std::string>()>& listen,
                   const std::function<absl::Status()>& work);

  // Ends the run for everyone. False where this process has not joined yet, so that there is nobody
  // to tell.
  bool Stop(const absl::Status& why);
  // The reason for which the run is over, or OK.
  absl::Status aborted() const;

  // For `work`.
  net::RendezvousClient& member() const { return *client_; }
  const net::Identity& identity() const { return options_.identity; }
  // With the port that was bound; from `listen` on.
  std::string rendezvous_address() const;
  // Does `work`; where the run ends meanwhile, `abort` is called, at most once and from any thread,
  // to end what `work` waits for. It must not call the session, and is not called any more once
  // this has returned. Where the run has ended before, only returns why.
  absl::Status WithAbort(const std::function<void(const absl::Status&)>& abort,
                         const std::function<absl::Status()>& work);

 private:
  absl::Status RunToTheEnd(const std::function<absl::StatusOr<std::string>()>& listen,
                           const std::function<absl::Status()>& work);
  absl::Status HostRendezvous();
  absl::Status Join(const std::string& data_address);
  absl::Status Leave();
  void OnAbort(const absl::Status& why);
  // Whether the rendezvous tells of a loss within a moment.
  bool AbortedSoon();

  const Options options_;
  const Clock& clock_;
  std::unique_ptr<net::RendezvousServer> hosted_;

  mutable std::mutex mutex_;  // guards the four below
  std::condition_variable abort_known_;
  absl::Status aborted_;
  const std::function<void(const absl::Status&)>* abort_work_ = nullptr;
  net::RendezvousClient* joined_ = nullptr;  // for Stop

  std::unique_ptr<net::RendezvousClient> client_;  // last: its thread calls OnAbort
};

}  // namespace crossover::process

#endif  // CROSSOVER_PROCESS_MEMBERSHIP_SESSION_H_
