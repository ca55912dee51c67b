#include "ps/server_run.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "core/status.h"
#include "net/identity.h"
#include "os/files.h"
#include "os/process_usage.h"
#include "os/resident_memory.h"
#include "proto/report.pb.h"

namespace crossover::ps {
namespace {

// For the logs; nothing is to be lost when the process is killed.
void PrintLine(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

net::Identity IdentityOf(const ServerRunOptions& options) {
  return {JobFingerprint(options.job), options.token, net::Role::kServer, options.rank,
          options.tls_pem};
}

}  // namespace

ServerRun::ServerRun(const ServerRunOptions& options, const Clock& clock)
    : options_(options), clock_(clock) {}

std::string ServerRun::Name() const {
  const std::lock_guard lock(mutex_);
  const std::string name = net::ProcessName(net::Role::kServer, options_.rank);
  return address_.empty() ? name : absl::StrCat(name, " at ", address_);
}

absl::Status ServerRun::Run() {
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, StartServer());
  RETURN_IF_ERROR(Join(*server));
  RETURN_IF_ERROR(member_->WaitForWorkersToLeave());
  if (absl::Status written = WriteReport(*server); !written.ok()) {
    member_->ReportFailure(written);
    return written;
  }
  return member_->Leave();
}

absl::StatusOr<std::unique_ptr<Server>> ServerRun::StartServer() {
  Server::Options options;
  options.job = options_.job;
  options.identity = IdentityOf(options_);
  options.address = options_.listen_address;
  options.on_worker_lost = [this](int, const absl::Status& why) {
    // Whether that ends the run is for the rendezvous to say.
    PrintLine(absl::StrCat(Name(), ": ", why.message()));
  };
  options.on_plan = [this](const std::string& holds) {
    PrintLine(absl::StrCat(Name(), " ", holds));
  };
  options.on_worker_leaving = [this](int) { SampleWireBytes(); };
  options.on_step = [this](int64_t step) {
    const std::lock_guard lock(mutex_);
    if (member_ != nullptr) member_->SetStatus(step, "train", 0, 0);
  };
  options.add_to_status = [this](proto::ServerStatus& status) {
    const proto::ProcessReport process = os::DescribeProcess();
    status.set_host(process.host());
    status.set_pid(process.pid());
    status.set_rss_bytes(os::ResidentBytes());
    // The kernel brings its own maximum up to date now and then.
    status.set_peak_rss_bytes(std::max(process.peak_rss_bytes(), status.rss_bytes()));
    status.set_cpu_s(process.cpu_s());
    status.set_rendezvous_address(options_.rendezvous_address);
  };
  ASSIGN_OR_RETURN(std::unique_ptr<Server> server, Server::Start(options, clock_));
  {
    const std::lock_guard lock(mutex_);
    address_ = server->address();
  }
  PrintLine(absl::StrCat(net::ProcessName(net::Role::kServer, options_.rank), " listens on ",
                         server->address()));
  return server;
}

absl::Status ServerRun::Join(const Server& server) {
  net::RendezvousClient::Options options;
  options.address = options_.rendezvous_address;
  options.identity = IdentityOf(options_);
  options.data_address = server.address();
  options.unix_socket = server.unix_socket();
  options.join_s = options_.job.deadlines().join_s();
  // Half the deadline to notice a silence, the other half to end.
  options.loss_s = options_.job.deadlines().loss_s() / 2;
  // An abort ends WaitForWorkersToLeave; there is nothing else to wake.
  ASSIGN_OR_RETURN(std::unique_ptr<net::RendezvousClient> member,
                   net::RendezvousClient::Join(options, clock_, [](const absl::Status&) {}));
  const std::lock_guard lock(mutex_);
  member_ = std::move(member);
  return absl::OkStatus();
}

bool ServerRun::Stop(const absl::Status& why) {
  net::RendezvousClient* member = nullptr;
  {
    const std::lock_guard lock(mutex_);
    member = member_.get();
  }
  if (member == nullptr) return false;
  member->ReportFailure(why);
  return true;
}

void ServerRun::SampleWireBytes() {
  const net::WireBytes now = net::CountWireBytes();
  const std::lock_guard lock(mutex_);
  wire_bytes_.sent = std::max(wire_bytes_.sent, now.sent);
  wire_bytes_.received = std::max(wire_bytes_.received, now.received);
}

absl::Status ServerRun::WriteReport(const Server& server) const {
  if (options_.report_path.empty()) return absl::OkStatus();
  proto::ProcessReport process = os::DescribeProcess();
  process.set_role(proto::SERVER);
  process.set_rank(options_.rank);
  process.set_data_address(server.address());
  const net::ClockOffset offset = member_->clock_offset();
  process.set_clock_offset_ns(offset.offset_ns);
  process.set_clock_error_ns(offset.error_ns);
  *process.mutable_server() = server.report();
  const std::lock_guard lock(mutex_);
  process.mutable_server()->set_wire_sent_bytes(wire_bytes_.sent);
  process.mutable_server()->set_wire_received_bytes(wire_bytes_.received);
  return os::WriteFile(options_.report_path, process.SerializeAsString());
}

}  // namespace crossover::ps
