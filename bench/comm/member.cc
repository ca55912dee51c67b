#include "bench/comm/member.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace crossover::bench {
namespace {

// How long a rank that lost a peer waits for the rendezvous to say why.
constexpr double kCauseWaitS = 1;
constexpr double kLossSMax = 10;

}  // namespace

absl::Status Member::Run() {
  identity_ = {.job_fingerprint = FingerprintOf(options_.plan, options_.world_size),
               .token = options_.token,
               .role = net::Role::kWorker,
               .rank = options_.rank};
  absl::Status status = RunToTheEnd();
  if (status.ok() || rendezvous_ == nullptr) return status;
  // Who lost a peer waits for the rendezvous to say why; a cause is told at once.
  if (aborted().ok() && (!absl::IsUnavailable(status) || !AbortedSoon())) {
    rendezvous_->ReportFailure(status);
  }
  const absl::Status said = rendezvous_->status();
  return said.ok() ? status : said;
}

absl::Status Member::RunToTheEnd() {
  RETURN_IF_ERROR(Join());
  RETURN_IF_ERROR(Measure());
  return Leave();
}

absl::Status Member::Join() {
  const double loss_s = std::min(options_.plan.deadline_s / 2, kLossSMax);
  if (options_.hosts_rendezvous) {
    net::RendezvousServer::Options host;
    host.address = options_.rendezvous_address;
    host.identity = identity_;
    host.workers = options_.world_size;
    host.join_s = options_.plan.deadline_s;
    host.loss_s = loss_s;
    host.hosted_by_worker_0 = true;
    ASSIGN_OR_RETURN(hosted_rendezvous_, net::RendezvousServer::Start(host, clock_));
  }
  ASSIGN_OR_RETURN(listener_, net::TcpListener::Listen(options_.listen_host, options_.listen_port));
  net::RendezvousClient::Options member;
  member.address =
      hosted_rendezvous_ != nullptr ? hosted_rendezvous_->address() : options_.rendezvous_address;
  member.identity = identity_;
  member.data_address = listener_->address();
  member.join_s = options_.plan.deadline_s;
  member.loss_s = loss_s;
  ASSIGN_OR_RETURN(rendezvous_,
                   net::RendezvousClient::Join(member, clock_,
                                               [this](const absl::Status& why) { OnAbort(why); }));
  {
    const std::lock_guard lock(mutex_);
    joined_ = rendezvous_.get();
  }
  if (rendezvous_->roster().workers.size() != static_cast<size_t>(options_.world_size)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the rendezvous's test has ", rendezvous_->roster().workers.size(),
                     " ranks, --world_size says ", options_.world_size));
  }
  return absl::OkStatus();
}

absl::Status Member::Measure() {
  RankLinks::Options links_options;
  links_options.plan = options_.plan;
  links_options.identity = identity_;
  for (const net::RosterMember& member : rendezvous_->roster().workers) {
    links_options.addresses.push_back(member.data_address);
  }
  links_options.control_listener = std::move(listener_);
  links_options.listen_host = options_.listen_host;
  links_options.cancelled = [this] { return aborted(); };
  ASSIGN_OR_RETURN(const std::unique_ptr<RankLinks> links,
                   RankLinks::Open(std::move(links_options), clock_));
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(aborted_);
    links_ = links.get();
  }
  // For whoever is told that this rank was lost: a step is a line of the results.
  int64_t step = 0;
  rendezvous_->SetStatus(step, "measure", 0, 0);
  absl::Status status = links->Measure([&](const Record& record) {
    rendezvous_->SetStatus(++step, "measure", 0, 0);
    options_.found(record);
  });
  const std::lock_guard lock(mutex_);
  links_ = nullptr;
  return status;
}

absl::Status Member::Leave() {
  RETURN_IF_ERROR(rendezvous_->Leave());
  if (hosted_rendezvous_ == nullptr) return absl::OkStatus();
  // The others still need the meeting point; they are bounded by its deadlines.
  while (!hosted_rendezvous_->WaitForEnd(0.2)) {
    if (absl::Status stopped = aborted(); !stopped.ok()) {
      hosted_rendezvous_->Abort(std::string(stopped.message()));
      return stopped;
    }
  }
  return hosted_rendezvous_->status();
}

bool Member::Stop(const absl::Status& why) {
  net::RendezvousClient* joined;
  {
    const std::lock_guard lock(mutex_);
    joined = joined_;
  }
  if (joined == nullptr) return false;
  joined->ReportFailure(why);
  OnAbort(why);
  return true;
}

void Member::OnAbort(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  if (!aborted_.ok()) return;
  aborted_ = why;
  abort_known_.notify_all();
  if (links_ != nullptr) links_->Abort(why);
}

bool Member::AbortedSoon() {
  std::unique_lock lock(mutex_);
  return abort_known_.wait_for(lock, std::chrono::duration<double>(kCauseWaitS),
                               [this] { return !aborted_.ok(); });
}

absl::Status Member::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

}  // namespace crossover::bench
