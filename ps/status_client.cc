#include "ps/status_client.h"

#include <poll.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "net/grpc_setup.h"
#include "net/observer.h"
#include "net/socket.h"
#include "proto/status.grpc.pb.h"

namespace crossover::ps {
namespace {

constexpr double kHeartbeatsS = 1;  // a screen does not wait longer for them
constexpr char kWhereItListens[] =
    "give the address that the server's log names (\"server 0 listens on ...\")";

// Whether anybody takes a TCP connection there.
absl::Status Reach(const std::string& address, double timeout_s) {
  ASSIGN_OR_RETURN(const net::UniqueFd socket, net::StartConnection(address));
  pollfd waiting{socket.get(), POLLOUT, 0};
  const int ready = poll(&waiting, 1, net::PollTimeoutMs(static_cast<int64_t>(timeout_s * 1e9)));
  if (ready <= 0) return absl::UnavailableError("no answer to a connection");
  const int error = net::ConnectionError(socket.get());
  if (error != 0) return absl::UnavailableError(net::ErrnoText(error));
  return absl::OkStatus();
}

}  // namespace

StatusClient::StatusClient(const std::string& address, const std::string& token,
                           const std::string& tls_pem)
    : address_(address),
      token_(token),
      tls_pem_(tls_pem),
      server_(net::MakeChannel(address, tls_pem)) {}

absl::StatusOr<proto::ServerStatus> StatusClient::Fetch(double timeout_s) {
  proto::ServerStatus status;
  grpc::ClientContext context;
  net::SetObserverToken(token_, context);
  context.set_deadline(net::TimeoutFromNow(timeout_s));
  const grpc::Status end =
      proto::ServerInspection::NewStub(server_)->Status(&context, proto::StatusRequest(), &status);
  if (!end.ok()) return Explain(end, timeout_s);
  AddHeartbeats(std::min(timeout_s, kHeartbeatsS), status);
  return status;
}

absl::Status StatusClient::Explain(const grpc::Status& end, double timeout_s) {
  switch (end.error_code()) {
    case grpc::StatusCode::PERMISSION_DENIED:
      return absl::PermissionDeniedError(absl::StrCat(
          "the server at ", address_,
          " refuses this token: give --token_file the file that the run's processes were given"));
    case grpc::StatusCode::UNIMPLEMENTED:
      return absl::FailedPreconditionError(
          absl::StrCat("what listens at ", address_, " is no parameter server: ", kWhereItListens));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      if (server_->GetState(false) != GRPC_CHANNEL_READY) break;
      return absl::DeadlineExceededError(absl::StrFormat(
          "the server at %s has not answered within %g s: it is stopped, or busy with a long push; "
          "fix: look at its process, or give a longer --timeout",
          address_, timeout_s));
    case grpc::StatusCode::UNAVAILABLE:
      break;
    default:
      return Annotate(net::FromGrpc(end), absl::StrCat("the server at ", address_, ": "));
  }
  const absl::Status reached = Reach(address_, timeout_s);
  if (!reached.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "nobody answers at ", address_, " (", reached.message(),
        "): a server ends with its run; is this one running, on that host, and in a network that "
        "this process is in? ",
        kWhereItListens));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("what listens at ", address_, " does not speak gRPC ",
                   tls_pem_.empty() ? "without TLS" : "with this TLS file",
                   ", so it is no parameter server, one that is stopped, or one of a run ",
                   tls_pem_.empty() ? "with TLS (then give its --tls_file)"
                                    : "with another TLS file or without TLS",
                   ": ", kWhereItListens));
}

void StatusClient::AddHeartbeats(double timeout_s, proto::ServerStatus& status) {
  if (status.rendezvous_address().empty() || rendezvous_silent_) return;
  if (rendezvous_ == nullptr) rendezvous_ = net::MakeChannel(status.rendezvous_address(), tls_pem_);
  proto::MembersStatus members;
  grpc::ClientContext context;
  net::SetObserverToken(token_, context);
  context.set_deadline(net::TimeoutFromNow(timeout_s));
  const grpc::Status end = proto::RunInspection::NewStub(rendezvous_)
                               ->Members(&context, proto::StatusRequest(), &members);
  rendezvous_silent_ = !end.ok();
  for (const proto::MembersStatus::Member& member : members.members()) {
    if (member.role() != proto::WORKER || member.rank() >= status.workers_size()) continue;
    proto::WorkerStatus& worker = *status.mutable_workers(member.rank());
    worker.set_phase(member.phase());
    if (member.has_heartbeat_s()) worker.set_heartbeat_s(member.heartbeat_s());
  }
}

}  // namespace crossover::ps
