// One server process's life: bind, join the run, serve until all workers have
// left, write the report, leave.
#ifndef CROSSOVER_PS_SERVER_RUN_H_
#define CROSSOVER_PS_SERVER_RUN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/rendezvous_client.h"
#include "net/wire_bytes.h"
#include "proto/job.pb.h"
#include "ps/server.h"

namespace crossover::ps {

struct ServerRunOptions {
  proto::Job job;  // validated; its strategy uses servers
  int rank = 0;    // below job.servers()
  std::string token;
  std::string tls_pem;  // as in net::Identity
  std::string rendezvous_address;
  std::string listen_address;  // host:port; port 0 chooses one
  std::string report_path;     // a serialised proto::ProcessReport; "" for none
};

// Run once. Stop may be called from another thread at any time.
class ServerRun {
 public:
  // `clock` must outlive the run.
  ServerRun(const ServerRunOptions& options, const Clock& clock);

  // Blocks until the workers have left (OK) or the run is over for another reason, which
  // the error tells. Prints where it listens and which workers it lost on stdout.
  absl::Status Run();
  // Tells the others that this process gives up; Run ends with the run's reason. False
  // where there is nobody to tell: it has not joined yet.
  bool Stop(const absl::Status& why);
  // "server 0 at 127.0.0.1:4711", without the address while there is none.
  std::string Name() const;

 private:
  absl::StatusOr<std::unique_ptr<Server>> StartServer();
  absl::Status Join(const Server& server);
  void SampleWireBytes();
  absl::Status WriteReport(const Server& server) const;

  const ServerRunOptions options_;
  const Clock& clock_;

  mutable std::mutex mutex_;  // of what follows
  std::string address_;
  std::unique_ptr<net::RendezvousClient> member_;  // once joined; then constant
  // The most seen when a worker left: connections that are closed are not counted.
  net::WireBytes wire_bytes_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SERVER_RUN_H_
