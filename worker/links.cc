#include "worker/links.h"

#include <string>
#include <utility>
#include <vector>

#include "core/job.h"
#include "core/status.h"

namespace crossover::worker {
namespace {

std::vector<std::string> Addresses(const std::vector<net::RosterMember>& members) {
  std::vector<std::string> addresses;
  for (const net::RosterMember& member : members) addresses.push_back(member.data_address);
  return addresses;
}

allreduce::Communicator::Options CommunicatorOptions(const proto::Job& job, uint64_t fingerprint) {
  allreduce::Communicator::Options options;
  options.job = fingerprint;
  options.engine.silence_s = job.deadlines().step_s();
  options.engine.chunk_bytes = job.allreduce().chunk_bytes();
  // Deterministic mode sums at the owner, in rank order.
  const bool direct =
      job.deterministic() || job.allreduce().algorithm() == proto::AllReduce::direct;
  options.choose = [direct](allreduce::Kind kind, int64_t) {
    if (kind == allreduce::Kind::kBroadcast) return allreduce::Algorithm::kChain;
    if (kind == allreduce::Kind::kBarrier) return allreduce::Algorithm::kDissemination;
    return direct ? allreduce::Algorithm::kDirect : allreduce::Algorithm::kRing;
  };
  return options;
}

}  // namespace

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
        *links->endpoint_, CommunicatorOptions(job, options.identity.job_fingerprint),
        timeline.clock());
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

void Links::Abort(const absl::Status& why) {
  if (endpoint_ != nullptr) endpoint_->Abort(why);
  if (servers_ != nullptr) servers_->Abort(why);
}

}  // namespace crossover::worker
