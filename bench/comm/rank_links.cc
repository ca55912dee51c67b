#include "bench/comm/rank_links.h"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allreduce/measured_delay.h"
#include "bench/comm/limits.h"
#include "bench/comm/memory_check.h"
#include "core/status.h"
#include "net/grpc_endpoint.h"
#include "net/inproc_endpoint.h"
#include "os/host_identity.h"
#include "os/resident_memory.h"

namespace crossover::bench {
namespace {

using allreduce::Algorithm;
using allreduce::Kind;

constexpr size_t kInprocQueueBytes = 1 << 20;

double CpuSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Whether a machine has more ranks than cores.
bool Oversubscribed(const std::vector<std::string>& machines) {
  std::map<std::string, int> ranks;
  for (const std::string& machine : machines) ++ranks[machine];
  int most = 0;
  for (const auto& [machine, count] : ranks) most = std::max(most, count);
  return most > static_cast<int>(std::thread::hardware_concurrency());
}

int RanksOn(const std::string& machine, const std::vector<std::string>& machines) {
  return static_cast<int>(std::count(machines.begin(), machines.end(), machine));
}

// The endpoint that is measured; addresses are told over `control`.
absl::StatusOr<std::unique_ptr<net::Endpoint>> ConnectTcpRanks(Control& control,
                                                               const RankLinks::Options& options,
                                                               const TestPlan& plan,
                                                               const Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<net::TcpListener> listener,
                   net::TcpListener::Listen(options.listen_host, 0, plan.congestion_control));
  net::TcpEndpointOptions tcp;
  tcp.identity = options.identity;
  ASSIGN_OR_RETURN(tcp.addresses, control.Exchange(listener->address()));
  tcp.connect_s = plan.deadline_s;
  tcp.cancelled = options.cancelled;
  return net::ConnectTcp(std::move(listener), tcp, clock);
}

absl::StatusOr<std::unique_ptr<net::Endpoint>> ConnectGrpcRanks(Control& control,
                                                                const RankLinks::Options& options,
                                                                const TestPlan& plan,
                                                                const Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<net::GrpcListener> listener,
                   net::GrpcListener::Listen(options.listen_host, 0, options.identity.tls_pem));
  net::GrpcEndpointOptions grpc;
  grpc.identity = options.identity;
  ASSIGN_OR_RETURN(grpc.addresses, control.Exchange(listener->address()));
  grpc.connect_s = plan.deadline_s;
  grpc.cancelled = options.cancelled;
  return net::ConnectGrpc(std::move(listener), grpc, clock);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankLinks>> RankLinks::Open(Options options, const Clock& clock) {
  std::unique_ptr<RankLinks> links(new RankLinks(options.plan, clock));
  const TestPlan& plan = links->plan_;
  if (plan.transport == Transport::kInproc) {
    return absl::InvalidArgumentError(
        "--transport=inproc: not between processes; allowed: auto, tcp, shared_memory, grpc");
  }
  net::TcpEndpointOptions tcp;
  tcp.identity = options.identity;
  tcp.addresses = options.addresses;
  tcp.connect_s = plan.deadline_s;
  tcp.cancelled = options.cancelled;
  ASSIGN_OR_RETURN(std::unique_ptr<net::Endpoint> control,
                   net::ConnectTcp(std::move(options.control_listener), tcp, clock));
  links->SetUpControl(std::move(control));
  ASSIGN_OR_RETURN(const std::vector<std::string> plans, links->control_->Exchange(TextOf(plan)));
  RETURN_IF_ERROR(CheckSamePlans(plans));
  ASSIGN_OR_RETURN(const std::vector<std::string> machines,
                   links->control_->Exchange(os::BootId()));
  RETURN_IF_ERROR(CheckMemory(plan, RanksOn(os::BootId(), machines), links->control_->world_size(),
                              os::AvailableBytes()));
  ASSIGN_OR_RETURN(std::unique_ptr<net::Endpoint> measured,
                   plan.transport == Transport::kGrpc
                       ? ConnectGrpcRanks(*links->control_, options, plan, clock)
                       : ConnectTcpRanks(*links->control_, options, plan, clock));
  links->transport_ = plan.transport == Transport::kGrpc ? "grpc" : "tcp";
  const bool yield = Oversubscribed(machines);
  links->SetUpCommunicator(std::move(measured), options.identity.job_fingerprint, yield);
  RETURN_IF_ERROR(links->ShareMemory(yield));
  if (plan.costs) {
    links->fit_ = *plan.costs;
    return links;
  }
  if (plan.transport == Transport::kGrpc || links->shares_all_) return links;
  ASSIGN_OR_RETURN(links->fit_,
                   allreduce::WithMeasuredDelay(*links->communicator_, links->fit_, clock));
  return links;
}

std::vector<std::unique_ptr<RankLinks>> RankLinks::InProcess(const TestPlan& plan, int ranks,
                                                             const Clock& clock) {
  std::vector<std::unique_ptr<net::Endpoint>> control = net::MakeInprocEndpoints(ranks, clock);
  std::vector<std::unique_ptr<net::Endpoint>> measured = net::MakeInprocEndpoints(
      ranks, clock, {.queue_bytes = kInprocQueueBytes, .short_moves_seed = {}, .borrow = false});
  std::vector<std::unique_ptr<RankLinks>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    std::unique_ptr<RankLinks>& links = all.emplace_back(new RankLinks(plan, clock));
    links->one_process_ = true;
    links->transport_ = "inproc";
    links->SetUpControl(std::move(control[rank]));
    links->SetUpCommunicator(std::move(measured[rank]), 0,
                             ranks > static_cast<int>(std::thread::hardware_concurrency()));
  }
  return all;
}

void RankLinks::SetUpControl(std::unique_ptr<net::Endpoint> endpoint) {
  const std::lock_guard lock(mutex_);
  control_endpoint_ = std::move(endpoint);
  if (!aborted_.ok()) control_endpoint_->Abort(aborted_);
  control_ = std::make_unique<Control>(*control_endpoint_, plan_.deadline_s, clock_);
}

void RankLinks::SetUpCommunicator(std::unique_ptr<net::Endpoint> endpoint, uint64_t job,
                                  bool yield) {
  const std::lock_guard lock(mutex_);
  measured_endpoint_ = std::move(endpoint);
  if (!aborted_.ok()) measured_endpoint_->Abort(aborted_);
  allreduce::Communicator::Options options;
  options.job = job;
  options.engine.silence_s = plan_.deadline_s;
  options.engine.yield = yield;
  // What a rank waits for passes through gRPC's threads, which need the cores.
  if (plan_.transport == Transport::kGrpc) options.engine.spin_rounds = 0;
  options.choose = [this](Kind kind, const allreduce::Place&, int64_t bytes) {
    return Choose(kind, bytes);
  };
  communicator_ = std::make_unique<allreduce::Communicator>(*measured_endpoint_, options, clock_);
}

absl::Status RankLinks::Measure(const std::function<void(const Record&)>& found) {
  if (plan_.limits) {
    ASSIGN_OR_RETURN(const std::vector<Record> limits, MeasureLimits(*control_, !one_process_));
    for (const Record& limit : limits) found(limit);
  }
  return RunSweep(plan_, *control_, MakeSubject(), found);
}

absl::Status RankLinks::ShareMemory(bool yield) {
  const bool wanted = plan_.transport == Transport::kSharedMemory;
  allreduce::SharedMemoryGroup::Options options;
  options.meeting.silence_s = plan_.deadline_s;
  options.meeting.yield = yield;
  ASSIGN_OR_RETURN(sharing_, allreduce::ShareHost(*communicator_, os::HostIdentity(), options,
                                                  *registry_, clock_));
  communicator_->SetHosts(sharing_.host_of);
  using Extent = allreduce::HostSharing::Extent;
  const bool any = plan_.transport == Transport::kAuto;
  // An algorithm that is named runs over the endpoint, hierarchical but within hosts.
  shares_all_ = sharing_.extent == Extent::kAllRanks && (wanted || (any && !plan_.algorithm));
  const bool hierarchical = !plan_.algorithm || *plan_.algorithm == Algorithm::kHierarchical;
  const bool shares_some = sharing_.extent == Extent::kWithinHosts && any && hierarchical;
  if (shares_all_ || shares_some) {
    transport_ = shares_all_ ? "shared_memory" : "tcp+shared_memory";
    within_host_ = allreduce::DefaultFitOfSharedMemory();
    if (sharing_.group != nullptr) communicator_->UseSharedMemory(*sharing_.group);
    return absl::OkStatus();
  }
  if (wanted) {
    return absl::InvalidArgumentError(absl::StrCat("--transport=shared_memory: ", sharing_.reason,
                                                   "; fix: --transport=auto or tcp"));
  }
  if (!plan_.shared_buffers) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--buffers=shared: ranks that talk over ",
                                                 transport_,
                                                 " share no memory; fix: --buffers=private"));
}

Algorithm RankLinks::Choose(Kind kind, int64_t bytes) const {
  const allreduce::Place place = {
      .rank = 0, .world_size = control_->world_size(), .root = 0, .host_of = sharing_.host_of};
  return allreduce::Choose(kind, bytes, place, fit_, within_host_.value_or(fit_));
}

// Of the calls since this was last asked.
std::string RankLinks::AlgorithmName(int64_t bytes) {
  if (!shares_all_) {
    return allreduce::NameOf(plan_.algorithm ? *plan_.algorithm : Choose(plan_.op, bytes));
  }
  const allreduce::SharedMemoryGroup::PathCounts before =
      std::exchange(paths_, sharing_.group->path_counts());
  if (paths_.fused > before.fused) return "fused";
  return paths_.staged > before.staged ? "staged" : "small";
}

absl::StatusOr<Buffer> RankLinks::AllocateShared(int64_t bytes) {
  ASSIGN_OR_RETURN(std::byte* const memory,
                   registry_->Allocate("comm_test", std::max<int64_t>(bytes, 1)));
  return Buffer(std::shared_ptr<std::byte>(
      memory, [registry = registry_](std::byte* at) { registry->Free(at); }));
}

Subject RankLinks::MakeSubject() {
  const int usage_of = one_process_ ? RUSAGE_THREAD : RUSAGE_SELF;
  Subject subject;
  subject.transport = transport_;
  subject.run = [this](const auto& request) { return communicator_->Run(request); };
  subject.algorithm = [this](int64_t bytes) { return AlgorithmName(bytes); };
  subject.cpu_s = [usage_of] { return CpuSeconds(usage_of); };
  subject.allocate = Buffer::Private;
  if (plan_.shared_buffers) {
    subject.allocate = [this](int64_t bytes) { return AllocateShared(bytes); };
  }
  return subject;
}

void RankLinks::Abort(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  aborted_ = why;
  if (control_endpoint_ != nullptr) control_endpoint_->Abort(why);
  if (measured_endpoint_ != nullptr) measured_endpoint_->Abort(why);
}

}  // namespace crossover::bench
