#include "worker/links.h"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allreduce/choice.h"
#include "allreduce/choice_ranges.h"
#include "core/check.h"
#include "core/job.h"
#include "core/status.h"
#include "core/strategy_traits.h"
#include "core/transport_costs.h"
#include "os/host_identity.h"
#include "ps/client_options.h"

namespace crossover::worker {
namespace {

std::vector<std::string> Addresses(std::span<const net::RosterMember> members) {
  std::vector<std::string> addresses;
  for (const net::RosterMember& member : members) addresses.push_back(member.data_address);
  return addresses;
}

using allreduce::Algorithm;
using allreduce::CostFit;
using allreduce::Kind;
using Extent = allreduce::HostSharing::Extent;

bool OverGrpc(const proto::Job& job) {
  return job.allreduce().transport() == proto::Transport::grpc;
}

// The algorithm that all AllReduces take; none where each size has its own.
std::optional<Algorithm> NamedAlgorithm(const proto::Job& job) {
  const proto::AllReduce::Algorithm algorithm = AllReduceAlgorithmOf(job);
  if (algorithm == proto::AllReduce::automatic) return std::nullopt;
  const std::optional<Algorithm> named =
      allreduce::AlgorithmNamed(proto::AllReduce::Algorithm_Name(algorithm));
  CROSSOVER_CHECK(named.has_value(), "the job's algorithms have the schedules' names");
  return named;
}

CostFit CostsFor(const proto::Job& job) {
  const proto::TransportCosts* costs = CostsOfTransport(job.allreduce());
  return costs != nullptr ? allreduce::FitOf(*costs) : allreduce::DefaultFitOfTcp();
}

CostFit CostsWithinHosts(const proto::Job& job) {
  const proto::TransportCosts* costs = CostsOfSharedMemory(job.allreduce());
  return costs != nullptr ? allreduce::FitOf(*costs) : allreduce::DefaultFitOfSharedMemory();
}

// `within_host` is borrowed, and may change where the communicator drops its plans. None: as
// between hosts.
allreduce::Communicator::Options CommunicatorOptions(const proto::Job& job,
                                                     const net::Identity& identity,
                                                     const std::optional<CostFit>& within_host) {
  allreduce::Communicator::Options options;
  options.job = identity.job_fingerprint;
  options.group = static_cast<uint32_t>(GroupOf(job, identity.rank).first);
  options.engine.silence_s = job.deadlines().step_s();
  options.engine.chunk_bytes = job.allreduce().chunk_bytes();
  options.engine.yield = true;  // the backward pass wants the core
  // What a rank waits for passes through gRPC's threads, which need the cores.
  if (OverGrpc(job)) options.engine.spin_rounds = 0;
  options.choose = [named = NamedAlgorithm(job), &within_host, costs = CostsFor(job)](
                       Kind kind, const allreduce::Place& place, int64_t bytes) {
    if (kind == Kind::kAllReduce && named) return *named;
    return allreduce::Choose(kind, bytes, place, costs, within_host.value_or(costs));
  };
  return options;
}

absl::StatusOr<std::unique_ptr<net::Endpoint>> ConnectPeers(Links::Options& options,
                                                            const Clock& clock) {
  // Ranks among the peers count within the group.
  const WorkerGroup group = GroupOf(options.job, options.identity.rank);
  const auto fill = [&options, &group](auto& endpoint) {
    endpoint.identity = options.identity;
    endpoint.identity.rank -= group.first;
    endpoint.addresses =
        Addresses(std::span(options.roster.workers).subspan(group.first, group.size));
    endpoint.connect_s = options.job.deadlines().join_s();
    endpoint.cancelled = options.cancelled;
  };
  if (OverGrpc(options.job)) {
    net::GrpcEndpointOptions grpc;
    fill(grpc);
    return net::ConnectGrpc(std::move(options.listener.grpc), grpc, clock);
  }
  net::TcpEndpointOptions tcp;
  fill(tcp);
  return net::ConnectTcp(std::move(options.listener.tcp), tcp, clock);
}

// Where constants come from that choose. Null: the job has none.
std::string SourceOfCosts(const proto::AllReduce& allreduce, const proto::TransportCosts* costs) {
  if (costs == nullptr) return "the shipped defaults";
  return absl::StrCat("the fit ", allreduce.fit(), " (", costs->transport(),
                      costs->network().empty() ? "" : ", ", costs->network(),
                      costs->host().empty() ? "" : ", measured on ", costs->host(), ")");
}

int HostsOf(const std::vector<int>& host_of) {
  return static_cast<int>(std::set<int>(host_of.begin(), host_of.end()).size());
}

}  // namespace

std::string PeerListener::address() const {
  if (tcp != nullptr) return tcp->address();
  return grpc != nullptr ? grpc->address() : "";
}

absl::StatusOr<PeerListener> ListenForPeers(const proto::Job& job, const std::string& host,
                                            int port, const std::string& tls_pem) {
  PeerListener listener;
  if (UsesCollectives(job) && OverGrpc(job)) {
    ASSIGN_OR_RETURN(listener.grpc, net::GrpcListener::Listen(host, port, tls_pem));
  } else if (UsesCollectives(job)) {
    ASSIGN_OR_RETURN(listener.tcp, net::TcpListener::Listen(host, port));
  }
  return listener;
}

bool SharesMemory(const proto::Job& job) {
  const proto::Transport::Name transport = job.allreduce().transport();
  return UsesCollectives(job) &&
         (transport == proto::Transport::shared_memory || transport == proto::Transport::automatic);
}

absl::StatusOr<std::unique_ptr<Links>> Links::Open(Options options, Timeline& timeline) {
  std::unique_ptr<Links> links(new Links());
  const proto::Job& job = options.job;
  if (UsesCollectives(job)) RETURN_IF_ERROR(links->OpenCollectives(options, timeline.clock()));
  if (TalksToServers(job, options.identity.rank)) {
    ps::Client::Options client = ps::ClientOptionsOf(job, options.identity, options.roster.servers);
    client.total_steps = options.total_steps;
    client.cancelled = options.cancelled;
    links->server_routes_ = client.DescribeRoutes();
    ASSIGN_OR_RETURN(links->servers_, ps::Client::Connect(client, options.buckets, timeline));
  }
  return links;
}

absl::Status Links::OpenCollectives(Options& options, const Clock& clock) {
  const proto::Job& job = options.job;
  ASSIGN_OR_RETURN(endpoint_, ConnectPeers(options, clock));
  communicator_ = std::make_unique<allreduce::Communicator>(
      *endpoint_, CommunicatorOptions(job, options.identity, within_host_), clock);
  transport_ = ScheduleTransport(job.allreduce());
  RETURN_IF_ERROR(ShareMemory(job, options.shared_buffers, clock));
  DescribeAllReduces(job);
  return absl::OkStatus();
}

void Links::DescribeAllReduces(const proto::Job& job) {
  if (shares_ == Extent::kAllRanks) {
    all_reduces_.emplace_back().set_algorithm("shared_memory");
    return;
  }
  const allreduce::Communicator::Options& options = communicator_->options();
  const allreduce::Place place = {
      .rank = 0, .world_size = communicator_->world_size(), .root = 0, .host_of = options.host_of};
  const std::vector<allreduce::ChoiceRange> ranges = allreduce::ChoiceRanges(
      [&](int64_t bytes) { return options.choose(Kind::kAllReduce, place, bytes); });
  for (const allreduce::ChoiceRange& range : ranges) {
    proto::AllReduceRange& all_reduce = all_reduces_.emplace_back();
    all_reduce.set_algorithm(allreduce::NameOf(range.algorithm));
    all_reduce.set_up_to_bytes(range.up_to_bytes);
    if (shares_ == Extent::kWithinHosts && range.algorithm == Algorithm::kHierarchical) {
      all_reduce.set_hosts_sharing_memory(HostsOf(options.host_of));
    }
  }
  const bool automatic = job.allreduce().algorithm() == proto::AllReduce::automatic;
  absl::StrAppend(&transport_, "; algorithm ", automatic ? "automatic: " : "",
                  allreduce::RangesText(ranges));
  if (!automatic) return;
  const proto::AllReduce& of_job = job.allreduce();
  absl::StrAppend(&transport_, ", by ", SourceOfCosts(of_job, CostsOfTransport(of_job)));
  if (shares_ == Extent::kNone) return;
  absl::StrAppend(&transport_, ", within hosts by ",
                  SourceOfCosts(of_job, CostsOfSharedMemory(of_job)));
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
  shares_ = sharing.extent;
  within_host_ = CostsWithinHosts(job);
  shared_memory_ = std::move(sharing.group);
  if (shared_memory_ != nullptr) communicator_->UseSharedMemory(*shared_memory_);
  return absl::OkStatus();
}

void Links::Abort(const absl::Status& why) {
  if (endpoint_ != nullptr) endpoint_->Abort(why);
  if (servers_ != nullptr) servers_->Abort(why);
}

}  // namespace crossover::worker
