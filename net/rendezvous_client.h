// A process's membership in the run: one Join stream, a heartbeat thread, and the
// news of losses. proto/rendezvous.proto says what travels.
#ifndef CROSSOVER_NET_RENDEZVOUS_CLIENT_H_
#define CROSSOVER_NET_RENDEZVOUS_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/clock_offset.h"
#include "net/identity.h"
#include "net/roster.h"

namespace crossover::net {

// Thread-safe. Created by Join; destruction breaks the stream (a loss for the
// others unless Leave was called).
class RendezvousClient {
 public:
  struct Options {
    std::string address;       // of the rendezvous
    Identity identity;         // role and rank are this process's
    std::string data_address;  // where peers reach it, "" if nowhere
    std::string unix_socket;   // where those of its host reach it too, "" if nowhere
    double join_s = 60;        // until the rendezvous answers, and then until everyone has joined
    double loss_s = 10;        // silence of the rendezvous that counts as its loss
    double heartbeat_s = 1;    // at most loss_s / 4, whatever is given
  };

  // Connects, says hello and blocks until everyone has joined. Errors: nobody
  // answers at the address, refused (token, job, rank taken or out of range),
  // somebody never came (named), an abort. `on_abort` is called at most once,
  // from an internal thread, when the run is over for everyone after the join:
  // the status names role, rank, address, step and reason, or says that the rendezvous
  // was lost, and with it worker 0 where that serves it. It may call the client's methods but not
  // destroy it; it may come before Join has returned to its caller. `clock` must outlive the
  // client.
  static absl::StatusOr<std::unique_ptr<RendezvousClient>> Join(
      const Options& options, const Clock& clock,
      std::function<void(const absl::Status&)> on_abort);
  // Waits for an on_abort that is running; none is called any more.
  ~RendezvousClient();

  const Roster& roster() const;
  // For the heartbeats from now on; cheap. step -1: not in a step. A change of
  // phase is told at once.
  void SetStatus(int64_t step, const std::string& phase, int64_t samples, double loss);
  // Blocks until every worker has arrived at the barrier of this name (workers only,
  // 1 to 100 bytes, one barrier at a time). Ends early with the abort's status, and after
  // timeout_s with DeadlineExceeded; then there is no barrier any more for this process,
  // only ReportFailure or Leave.
  absl::Status Barrier(const std::string& name, double timeout_s);
  // Tells the others that this process gives up and why; they are aborted. Blocks
  // until the rendezvous has answered, at most about two seconds; then status() is the run's
  // reason, which may be a deeper one: the loss that `why` is a consequence of.
  void ReportFailure(const absl::Status& why);
  // Servers: blocks until all workers have left (OK) or the run is aborted.
  absl::Status WaitForWorkersToLeave();
  // An orderly end; blocks until the rendezvous has taken note (at most loss_s).
  absl::Status Leave();
  // OK, or the reason for which the run was aborted.
  absl::Status status() const;
  ClockOffset clock_offset() const;

 private:
  class Impl;
  explicit RendezvousClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_RENDEZVOUS_CLIENT_H_
