// A parameter server as workers see it: the gRPC service in front of the parts
// that it owns (ps/served_shards.h). One stream for each worker, for as long as the
// worker trains (ps/wire.h says what travels).
//
// The server learns the model's size from the workers' plans, which must agree.
// Strangers, other jobs, wrong ranks and broken frames get an error status on their
// own stream and change nothing. A worker that vanishes is reported and not
// replaced: what that means for the run is for the rendezvous to decide, and the
// other workers wait until it has.
//
// One thread receives; it, or ps.apply_threads others, sum and apply, each the parts that belong to
// it (ps/apply_lanes.h), and send the replies. What a server holds beside its parameters is bounded
// (ps/served_shards.h).
#ifndef CROSSOVER_PS_SERVER_H_
#define CROSSOVER_PS_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/identity.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/status.pb.h"

namespace crossover::ps {

// Thread-safe.
class Server {
 public:
  struct Options {
    proto::Job job;          // validated; its strategy uses servers
    net::Identity identity;  // this server's; rank below job.servers()
    std::string address = "127.0.0.1:0";
    // Called from internal threads; must not block. A worker's stream ended without
    // a leave, or was ended because of what it sent; at most once for each worker. `why`
    // names the worker.
    std::function<void(int worker, const absl::Status& why)> on_worker_lost;
    // The first plan has come: what this server holds of it and how evenly, a line for a log.
    std::function<void(const std::string& holds)> on_plan;
    // A worker says that it pushes no more; its connection is still there.
    std::function<void(int worker)> on_worker_leaving;
    // The first push of a step that no worker has pushed before.
    std::function<void(int64_t step)> on_step;
    // Adds to a status what the process knows and the server does not; called from
    // internal threads, must not block. May be empty.
    std::function<void(proto::ServerStatus&)> add_to_status;
  };

  // Binds and serves. Errors: the address (net/grpc_setup.h). `clock` must outlive
  // the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options, const Clock& clock);
  // Stops.
  ~Server();

  // With the port that was bound.
  const std::string& address() const;
  // The name of the Unix socket that it listens on too (net/unix_socket.h); "" where the job wants
  // none.
  const std::string& unix_socket() const;
  // Breaks all streams; returns when they have ended. Not from a callback.
  void Stop();
  // Counts pushes and their replies; initialisation and pulls apart.
  proto::ServerReport report() const;
  // What the status call on the server's port answers (proto/status.proto). Waits for
  // parts that are worked on.
  proto::ServerStatus status() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SERVER_H_
