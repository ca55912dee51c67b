#include "bench/comm/rank_links.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/comm/limits.h"
#include "core/status.h"
#include "net/inproc_endpoint.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

using allreduce::Algorithm;
using allreduce::Kind;

constexpr int64_t kSmallBytes = 32 << 10;  // below, a message's latency is what counts
constexpr size_t kInprocQueueBytes = 1 << 20;

Algorithm ChooseAlgorithm(Kind kind, int64_t bytes) {
  switch (kind) {
    case Kind::kAllReduce:
      return bytes <= kSmallBytes ? Algorithm::kRecursiveDoubling : Algorithm::kRing;
    case Kind::kBroadcast:
      return bytes <= kSmallBytes ? Algorithm::kTree : Algorithm::kChain;
    case Kind::kBarrier:
      return Algorithm::kDissemination;
    case Kind::kReduceScatter:
    case Kind::kAllGather:
      return Algorithm::kRing;
  }
  return Algorithm::kRing;
}

double CpuSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The machine this rank runs on, whatever network namespace it is in.
std::string MachineId() {
  const absl::StatusOr<std::string> id = os::ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? *id : "";
}

// Ranks in one network namespace of one machine share memory; the lab's nodes pass for hosts.
std::string HostId() {
  std::error_code error;
  return absl::StrCat(MachineId(),
                      std::filesystem::read_symlink("/proc/self/ns/net", error).string());
}

bool AllEqual(const std::vector<std::string>& texts) {
  return std::count(texts.begin(), texts.end(), texts.front()) ==
         static_cast<int64_t>(texts.size());
}

// Whether a machine has more ranks than cores.
bool Oversubscribed(const std::vector<std::string>& machines) {
  std::map<std::string, int> ranks;
  for (const std::string& machine : machines) ++ranks[machine];
  int most = 0;
  for (const auto& [machine, count] : ranks) most = std::max(most, count);
  return most > static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankLinks>> RankLinks::Open(Options options, const Clock& clock) {
  std::unique_ptr<RankLinks> links(new RankLinks(options.plan, clock));
  const TestPlan& plan = links->plan_;
  if (plan.transport == Transport::kGrpc || plan.transport == Transport::kInproc) {
    return absl::InvalidArgumentError(
        absl::StrCat("--transport=", NameOf(plan.transport),
                     ": not between processes; allowed: auto, tcp, shared_memory"));
  }
  net::TcpEndpointOptions tcp;
  tcp.identity = options.identity;
  tcp.addresses = options.addresses;
  tcp.connect_s = plan.deadline_s;
  tcp.cancelled = options.cancelled;
  ASSIGN_OR_RETURN(std::unique_ptr<net::Endpoint> control,
                   net::ConnectTcp(std::move(options.control_listener), tcp, clock));
  links->SetUpControl(std::move(control));
  ASSIGN_OR_RETURN(std::unique_ptr<net::TcpListener> listener,
                   net::TcpListener::Listen(options.listen_host, 0, plan.congestion_control));
  ASSIGN_OR_RETURN(tcp.addresses, links->control_->Exchange(listener->address()));
  ASSIGN_OR_RETURN(std::unique_ptr<net::Endpoint> measured,
                   net::ConnectTcp(std::move(listener), tcp, clock));
  links->transport_ = "tcp";
  ASSIGN_OR_RETURN(const std::vector<std::string> machines, links->control_->Exchange(MachineId()));
  ASSIGN_OR_RETURN(const std::vector<std::string> hosts, links->control_->Exchange(HostId()));
  const bool yield = Oversubscribed(machines);
  const uint64_t job = options.identity.job_fingerprint;
  links->SetUpCommunicator(std::move(measured), job, yield);
  RETURN_IF_ERROR(links->SetUpSharedMemory(job, yield, AllEqual(hosts)));
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
  options.choose = [](Kind kind, const allreduce::Place&, int64_t bytes) {
    return ChooseAlgorithm(kind, bytes);
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

// auto: shared memory where all ranks can.
absl::Status RankLinks::SetUpSharedMemory(uint64_t job, bool yield, bool one_host) {
  const bool wanted = plan_.transport == Transport::kSharedMemory;
  if (wanted && !one_host) {
    return absl::InvalidArgumentError(
        "--transport=shared_memory: the ranks are on several hosts; fix: --transport=tcp");
  }
  if (wanted || (one_host && plan_.transport == Transport::kAuto && !plan_.algorithm)) {
    ASSIGN_OR_RETURN(shared_memory_, SharedMemoryRanks::Open(*control_, *measured_endpoint_, job,
                                                             plan_.deadline_s, yield, clock_));
    transport_ = "shared_memory";
    return absl::OkStatus();
  }
  if (!plan_.shared_buffers) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--buffers=shared: ranks that talk over tcp share no memory; fix: --buffers=private");
}

Subject RankLinks::MakeSubject() {
  const int usage_of = one_process_ ? RUSAGE_THREAD : RUSAGE_SELF;
  Subject subject;
  subject.transport = transport_;
  subject.cpu_s = [usage_of] { return CpuSeconds(usage_of); };
  subject.allocate = Buffer::Private;
  if (shared_memory_ == nullptr) {
    subject.run = [this](const auto& request) { return communicator_->Run(request); };
    subject.algorithm = [this](int64_t bytes) {
      return allreduce::NameOf(plan_.algorithm ? *plan_.algorithm
                                               : ChooseAlgorithm(plan_.op, bytes));
    };
    return subject;
  }
  subject.run = [this](const auto& request) { return shared_memory_->Run(request); };
  subject.algorithm = [this](int64_t bytes) {
    return SharedMemoryRanks::PathOf(bytes, plan_.shared_buffers);
  };
  if (plan_.shared_buffers) {
    subject.allocate = [this](int64_t bytes) { return shared_memory_->Allocate(bytes); };
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
