// A worker's connections to the others: a communicator of its group (mostly all workers) over TCP
// or gRPC, streams to the servers, whichever the job needs; and the one handle that ends them all.
#ifndef CROSSOVER_WORKER_LINKS_H_
#define CROSSOVER_WORKER_LINKS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/choice.h"
#include "allreduce/communicator.h"
#include "allreduce/host_sharing.h"
#include "allreduce/shared_memory/group.h"
#include "core/bucket_plan.h"
#include "core/clock.h"
#include "core/timeline.h"
#include "net/endpoint.h"
#include "net/grpc_endpoint.h"
#include "net/identity.h"
#include "net/rendezvous_client.h"
#include "net/tcp_endpoint.h"
#include "os/shared_memory.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "ps/client.h"

namespace crossover::worker {

// Whether the job's collectives may go through memory that ranks of a host share.
bool SharesMemory(const proto::Job& job);

// Where the other workers reach this one: one of the two, by the job's transport; neither where the
// job has no collectives.
struct PeerListener {
  std::unique_ptr<net::TcpListener> tcp;
  std::unique_ptr<net::GrpcListener> grpc;
  std::string address() const;  // host:port as bound; "" of neither
};
// Port 0 chooses one. A taken port is an error that names it. `tls_pem`: as in net::Identity.
absl::StatusOr<PeerListener> ListenForPeers(const proto::Job& job, const std::string& host,
                                            int port, const std::string& tls_pem);

// Thread-safe to Abort; otherwise belongs to the compute thread.
class Links {
 public:
  struct Options {
    const proto::Job& job;  // validated
    const net::Identity& identity;
    const net::Roster& roster;
    PeerListener listener;  // bound and published before the join
    const BucketPlan& buckets;
    // What the flat buffers may be from, where ranks of a host share memory.
    const os::SharedBufferRegistry& shared_buffers;
    int64_t total_steps = 0;
    // Asked while connecting; an error (the run was aborted) ends it.
    std::function<absl::Status()> cancelled;
  };
  // Connects to everyone the job needs. Blocks, at most deadlines.join_s. `timeline` outlives the
  // links.
  static absl::StatusOr<std::unique_ptr<Links>> Open(Options options, Timeline& timeline);

  // What carries collectives and by which algorithms, for the log; "" without them.
  const std::string& transport() const { return transport_; }
  // For the log; "" without servers.
  const std::string& server_routes() const { return server_routes_; }
  // What carries the AllReduces of each size; empty without collectives.
  const std::vector<proto::AllReduceRange>& all_reduces() const { return all_reduces_; }
  // Null where the job does not use them.
  allreduce::Communicator* communicator() { return communicator_.get(); }
  ps::Client* servers() { return servers_.get(); }

  // From any thread: everything that blocks on a peer ends with this status.
  void Abort(const absl::Status& why);

 private:
  Links() = default;

  absl::Status OpenCollectives(Options& options, const Clock& clock);
  absl::Status ShareMemory(const proto::Job& job, const os::SharedBufferRegistry& buffers,
                           const Clock& clock);
  void DescribeAllReduces(const proto::Job& job);

  std::string transport_;
  std::string server_routes_;
  std::optional<allreduce::CostFit> within_host_;  // where memory is shared; equal on all ranks
  allreduce::HostSharing::Extent shares_ = allreduce::HostSharing::Extent::kNone;
  std::vector<proto::AllReduceRange> all_reduces_;
  std::unique_ptr<net::Endpoint> endpoint_;
  // Of the host's ranks; null: not used, or this one is alone there.
  std::unique_ptr<allreduce::SharedMemoryGroup> shared_memory_;
  std::unique_ptr<allreduce::Communicator> communicator_;
  std::unique_ptr<ps::Client> servers_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_LINKS_H_
