// A worker's connections to the others: a communicator over TCP, streams to the
// servers, whichever the job needs; and the one handle that ends them all.
#ifndef CROSSOVER_WORKER_LINKS_H_
#define CROSSOVER_WORKER_LINKS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/choice.h"
#include "allreduce/communicator.h"
#include "allreduce/shared_memory/group.h"
#include "core/bucket_plan.h"
#include "core/clock.h"
#include "core/timeline.h"
#include "net/endpoint.h"
#include "net/identity.h"
#include "net/rendezvous_client.h"
#include "net/tcp_endpoint.h"
#include "os/shared_memory.h"
#include "proto/job.pb.h"
#include "ps/client.h"

namespace crossover::worker {

// Whether the job's collectives may go through memory that ranks of a host share.
bool SharesMemory(const proto::Job& job);

// Thread-safe to Abort; otherwise belongs to the compute thread.
class Links {
 public:
  struct Options {
    const proto::Job& job;  // validated
    const net::Identity& identity;
    const net::Roster& roster;
    // Bound and published before the join; used only if the job has collectives.
    std::unique_ptr<net::TcpListener> listener;
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

  // Null where the job does not use them.
  // What carries collectives, for the log; "" without them.
  const std::string& transport() const { return transport_; }
  allreduce::Communicator* communicator() { return communicator_.get(); }
  ps::Client* servers() { return servers_.get(); }

  // From any thread: everything that blocks on a peer ends with this status.
  void Abort(const absl::Status& why);

 private:
  Links() = default;

  absl::Status ShareMemory(const proto::Job& job, const os::SharedBufferRegistry& buffers,
                           const Clock& clock);

  std::string transport_;
  allreduce::CostFit within_host_ = allreduce::DefaultFitOfTcp();  // equal on all ranks
  std::unique_ptr<net::Endpoint> endpoint_;
  std::unique_ptr<allreduce::SharedMemoryGroup> shared_memory_;  // null: not used
  std::unique_ptr<allreduce::Communicator> communicator_;
  std::unique_ptr<ps::Client> servers_;
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_LINKS_H_
