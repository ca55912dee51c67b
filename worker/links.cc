#include "worker/links.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allreduce/choice.h"
#include "allreduce/host_sharing.h"
#include "core/job.h"
#include "core/status.h"
#include "os/host_identity.h"

namespace crossover::worker {
namespace {

std::vector<std::string> Addresses(const std::vector<net::RosterMember>& members) {
  std::vector<std::string> addresses;
  for (const net::RosterMember& member : members) addresses.push_back(member.data_address);
  return addresses;
}

using allreduce::Algorithm;
using allreduce::Kind;

Algorithm AllReduceOf(const proto::Job& job, const allreduce::Place& place, int64_t bytes,
                      const allreduce::CostFit& within_host) {
  // Deterministic mode sums at the owner, in rank order.
  if (job.deterministic()) return Algorithm::kDirect;
  switch (job.allreduce().algorithm()) {
    case proto::AllReduce::ring:
      return Algorithm::kRing;
    case proto::AllReduce::direct:
      return Algorithm::kDirect;
    case proto::AllReduce::halving_doubling:
      return Algorithm::kHalvingDoubling;
    case proto::AllReduce::recursive_doubling:
      return Algorithm::kRecursiveDoubling;
    case proto::AllReduce::tree:
      return Algorithm::kTree;
    case proto::AllReduce::hierarchical:
      return Algorithm::kHierarchical;
    case proto::AllReduce::automatic:
      break;
  }
  return allreduce::Choose(Kind::kAllReduce, bytes, place, allreduce::DefaultFitOfTcp(),
                           within_host);
}

// `within_host` may change until the first collective of training.
allreduce::Communicator::Options CommunicatorOptions(const proto::Job& job, uint64_t fingerprint,
                                                     const allreduce::CostFit& within_host) {
  allreduce::Communicator::Options options;
  options.job = fingerprint;
  options.engine.silence_s = job.deadlines().step_s();
  options.engine.chunk_bytes = job.allreduce().chunk_bytes();
  options.engine.yield = true;  // the backward pass wants the core
  options.choose = [job, &within_host](Kind kind, const allreduce::Place& place, int64_t bytes) {
    if (kind == Kind::kAllReduce) return AllReduceOf(job, place, bytes, within_host);
    return allreduce::Choose(kind, bytes, place, allreduce::DefaultFitOfTcp());
  };
  return options;
}

}  // namespace

bool SharesMemory(const proto::Job& job) {
  return UsesCollectives(job) && job.allreduce().transport() != proto::Transport::tcp;
}

absl::StatusOr<std::unique_ptr<Links>> Links::Open(Options options, Timeline& timeline) {
  std::unique_ptr<Links> links(new Links());
  const proto::Job& job = options.job;
  if (UsesCollectives(job)) {
    net::TcpEndpointOptions tcp;
    tcp.identity = options.identity;
    tcp.addresses = Addresses(options.roster.workers);
    tcp.connect_s = job.deadlines().join_s();
    tcp.cancelled = options.cancelled;
    ASSIGN_OR_RETURN(links->endpoint_,
                     net::ConnectTcp(std::move(options.listener), tcp, timeline.clock()));
    links->communicator_ = std::make_unique<allreduce::Communicator>(
        *links->endpoint_,
        CommunicatorOptions(job, options.identity.job_fingerprint, links->within_host_),
        timeline.clock());
    links->transport_ = "tcp";
    RETURN_IF_ERROR(links->ShareMemory(job, options.shared_buffers, timeline.clock()));
  }
  if (UsesServers(job)) {
    ps::Client::Options client;
    client.identity = options.identity;
    client.servers = Addresses(options.roster.servers);
    client.part_bytes = job.ps().part_bytes();
    client.total_steps = options.total_steps;
    client.step_s = job.deadlines().step_s();
    client.connect_s = job.deadlines().join_s();
    client.cancelled = options.cancelled;
    ASSIGN_OR_RETURN(links->servers_, ps::Client::Connect(client, options.buckets, timeline));
  }
  return links;
}

absl::Status Links::ShareMemory(const proto::Job& job, const os::SharedBufferRegistry& buffers,
                                const Clock& clock) {
  const bool hosts_matter = job.allreduce().algorithm() == proto::AllReduce::hierarchical ||
                            job.allreduce().algorithm() == proto::AllReduce::automatic;
  if (!SharesMemory(job) && !hosts_matter) return absl::OkStatus();
  allreduce::SharedMemoryGroup::Options options;
  options.meeting.silence_s = job.deadlines().step_s();
  options.meeting.yield = true;
  ASSIGN_OR_RETURN(
      allreduce::HostSharing sharing,
      allreduce::ShareHost(*communicator_, os::HostIdentity(), options, buffers, clock));
  communicator_->SetHosts(sharing.host_of);
  if (!SharesMemory(job)) return absl::OkStatus();
  using Extent = allreduce::HostSharing::Extent;
  const bool all = sharing.extent == Extent::kAllRanks;
  if (!all && job.allreduce().transport() == proto::Transport::shared_memory) {
    return absl::FailedPreconditionError(
        absl::StrCat("allreduce.transport is shared_memory, but ", sharing.reason,
                     "; fix: --allreduce.transport=automatic, or tcp"));
  }
  // Between hosts only hierarchical makes use of it.
  const bool some = sharing.extent == Extent::kWithinHosts && hosts_matter && !job.deterministic();
  transport_ = absl::StrCat(all    ? "shared memory: "
                            : some ? "tcp, and shared memory within hosts: "
                                   : "tcp: ",
                            sharing.reason);
  if (!all && !some) return absl::OkStatus();
  within_host_ = allreduce::DefaultFitOfSharedMemory();
  shared_memory_ = std::move(sharing.group);
  if (shared_memory_ != nullptr) communicator_->UseSharedMemory(*shared_memory_);
  return absl::OkStatus();
}

void Links::Abort(const absl::Status& why) {
  if (endpoint_ != nullptr) endpoint_->Abort(why);
  if (servers_ != nullptr) servers_->Abort(why);
}

}  // namespace crossover::worker
