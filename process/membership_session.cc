#include "process/membership_session.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace crossover::process {
namespace {

// How long a process that lost a peer waits for the rendezvous to say why.
constexpr double kCauseWaitS = 1;
// How often a meeting point that waits for the others looks whether it was told to stop.
constexpr double kLookEveryS = 0.2;

}  // namespace

MembershipSession::MembershipSession(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

absl::Status MembershipSession::Run(const std::function<absl::StatusOr<std::string>()>& listen,
                                    const std::function<absl::Status()>& work) {
  absl::Status status = RunToTheEnd(listen, work);
  if (status.ok() || client_ == nullptr) return status;
  // Those who lost a peer wait for the rendezvous to say why; a cause is told at once.
  if (aborted().ok() && (!absl::IsUnavailable(status) || !AbortedSoon())) {
    client_->ReportFailure(status);
  }
  // As everybody else hears it, with role, rank, address and step.
  const absl::Status said = client_->status();
  return said.ok() ? status : said;
}

absl::Status MembershipSession::RunToTheEnd(
    const std::function<absl::StatusOr<std::string>()>& listen,
    const std::function<absl::Status()>& work) {
  if (options_.hosts_rendezvous) RETURN_IF_ERROR(HostRendezvous());
  ASSIGN_OR_RETURN(const std::string data_address, listen());
  RETURN_IF_ERROR(Join(data_address));
  RETURN_IF_ERROR(work());
  return Leave();
}

absl::Status MembershipSession::HostRendezvous() {
  net::RendezvousServer::Options host;
  host.address = options_.rendezvous_address;
  host.identity = options_.identity;
  host.workers = options_.workers;
  host.servers = options_.servers;
  host.join_s = options_.join_s;
  host.loss_s = options_.loss_s;
  ASSIGN_OR_RETURN(hosted_, net::RendezvousServer::Start(host, clock_));
  return absl::OkStatus();
}

absl::Status MembershipSession::Join(const std::string& data_address) {
  net::RendezvousClient::Options member;
  member.address = rendezvous_address();
  member.identity = options_.identity;
  member.data_address = data_address;
  member.join_s = options_.join_s;
  member.loss_s = options_.loss_s;
  ASSIGN_OR_RETURN(client_, net::RendezvousClient::Join(
                                member, clock_, [this](const absl::Status& why) { OnAbort(why); }));
  {
    const std::lock_guard lock(mutex_);
    joined_ = client_.get();
  }
  // The rendezvous may be another program's: what it says must fit what we were told.
  const net::Roster& roster = client_->roster();
  if (roster.workers.size() == static_cast<size_t>(options_.workers) &&
      roster.servers.size() == static_cast<size_t>(options_.servers)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the rendezvous's run has ", roster.workers.size(), " workers and ", roster.servers.size(),
      " servers, this process's ", options_.workers, " and ", options_.servers));
}

absl::Status MembershipSession::Leave() {
  RETURN_IF_ERROR(client_->Leave());
  if (hosted_ == nullptr) return absl::OkStatus();
  // The others still need the meeting point; they are bounded by its deadlines.
  while (!hosted_->WaitForEnd(kLookEveryS)) {
    if (absl::Status stopped = aborted(); !stopped.ok()) {
      hosted_->Abort(std::string(stopped.message()));
      return stopped;
    }
  }
  return hosted_->status();
}

bool MembershipSession::Stop(const absl::Status& why) {
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

std::string MembershipSession::rendezvous_address() const {
  return hosted_ != nullptr ? hosted_->address() : options_.rendezvous_address;
}

absl::Status MembershipSession::WithAbort(const std::function<void(const absl::Status&)>& abort,
                                          const std::function<absl::Status()>& work) {
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(aborted_);
    abort_work_ = &abort;
  }
  absl::Status status = work();
  const std::lock_guard lock(mutex_);
  abort_work_ = nullptr;
  return status;
}

void MembershipSession::OnAbort(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  if (!aborted_.ok()) return;
  aborted_ = why;
  abort_known_.notify_all();
  if (options_.on_abort) options_.on_abort(why);
  if (abort_work_ != nullptr) (*abort_work_)(why);
}

bool MembershipSession::AbortedSoon() {
  std::unique_lock lock(mutex_);
  return abort_known_.wait_for(lock, std::chrono::duration<double>(kCauseWaitS),
                               [this] { return !aborted_.ok(); });
}

absl::Status MembershipSession::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

}  // namespace crossover::process
