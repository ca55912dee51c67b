#include "bench/comm/member.h"

#include <utility>

#include "bench/comm/rank_links.h"
#include "core/status.h"

namespace crossover::bench {
namespace {

process::MembershipSession::Options SessionOptions(const Member::Options& options) {
  process::MembershipSession::Options session;
  session.identity = {.job_fingerprint = FingerprintOf(options.world_size),
                      .token = options.token,
                      .role = net::Role::kWorker,
                      .rank = options.rank};
  session.rendezvous_address = options.rendezvous_address;
  session.hosts_rendezvous = options.hosts_rendezvous;
  session.workers = options.world_size;
  session.join_s = options.plan.deadline_s;
  session.loss_s = LossS(options.plan);
  return session;
}

}  // namespace

Member::Member(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), session_(SessionOptions(options_), clock) {}

absl::Status Member::Run() {
  return session_.Run([this] { return Listen(); }, [this] { return Measure(); });
}

absl::StatusOr<std::string> Member::Listen() {
  ASSIGN_OR_RETURN(listener_, net::TcpListener::Listen(options_.listen_host, options_.listen_port,
                                                       options_.plan.congestion_control));
  return listener_->address();
}

absl::Status Member::Measure() {
  net::RendezvousClient& member = session_.member();
  RankLinks::Options links_options;
  links_options.plan = options_.plan;
  links_options.identity = session_.identity();
  for (const net::RosterMember& rank : member.roster().workers) {
    links_options.addresses.push_back(rank.data_address);
  }
  links_options.control_listener = std::move(listener_);
  links_options.listen_host = options_.listen_host;
  links_options.cancelled = [this] { return session_.aborted(); };
  ASSIGN_OR_RETURN(const std::unique_ptr<RankLinks> links,
                   RankLinks::Open(std::move(links_options), clock_));
  // For whoever is told that this rank was lost: a step is a line of the results.
  int64_t step = 0;
  member.SetStatus(step, "measure", 0, 0);
  const auto found = [&](const Record& record) {
    member.SetStatus(++step, "measure", 0, 0);
    options_.found(record);
  };
  return session_.WithAbort([&links](const absl::Status& why) { links->Abort(why); },
                            [&] { return links->Measure(found); });
}

}  // namespace crossover::bench
