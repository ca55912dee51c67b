// One rank's connections in a communication test: the control endpoint and, over it agreed on, the
// endpoint that is measured with its communicator.
#ifndef CROSSOVER_BENCH_COMM_RANK_LINKS_H_
#define CROSSOVER_BENCH_COMM_RANK_LINKS_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/choice.h"
#include "allreduce/communicator.h"
#include "allreduce/host_sharing.h"
#include "allreduce/shared_memory/group.h"
#include "bench/comm/record.h"
#include "bench/comm/sweep.h"
#include "bench/comm/test_plan.h"
#include "bench/shared/control.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/identity.h"
#include "net/tcp_endpoint.h"
#include "os/shared_memory.h"

namespace crossover::bench {

// Thread-safe to Abort; otherwise belongs to one thread.
class RankLinks {
 public:
  struct Options {
    TestPlan plan;
    net::Identity identity;
    std::vector<std::string> addresses;                  // of the control listeners, by rank
    std::unique_ptr<net::TcpListener> control_listener;  // bound and published before
    std::string listen_host;
    std::function<absl::Status()> cancelled;
  };
  // Connects to all ranks; blocks. `clock` outlives the links.
  static absl::StatusOr<std::unique_ptr<RankLinks>> Open(Options options, const Clock& clock);
  // Ranks that are threads of this process: by rank.
  static std::vector<std::unique_ptr<RankLinks>> InProcess(const TestPlan& plan, int ranks,
                                                           const Clock& clock);

  // Limits, if the plan wants them, and the sweep; `found` as RunSweep says. Blocks to the end.
  absl::Status Measure(const std::function<void(const Record&)>& found);

  // From any thread: everything that blocks on a peer ends with this status.
  void Abort(const absl::Status& why);

 private:
  RankLinks(TestPlan plan, const Clock& clock) : plan_(std::move(plan)), clock_(clock) {}
  void SetUpControl(std::unique_ptr<net::Endpoint> endpoint);
  // `yield`: ranks outnumber the cores of their machine.
  void SetUpCommunicator(std::unique_ptr<net::Endpoint> endpoint, uint64_t job, bool yield);
  // Finds out who shares a host, and shares memory where the plan wants it and ranks can.
  absl::Status ShareMemory(bool yield);
  allreduce::Algorithm Choose(allreduce::Kind kind, int64_t bytes) const;
  std::string AlgorithmName(int64_t bytes);
  absl::StatusOr<Buffer> AllocateShared(int64_t bytes);
  Subject MakeSubject();

  const TestPlan plan_;
  const Clock& clock_;
  bool one_process_ = false;
  std::string transport_;
  // Buffers that it has given away outlive the links.
  std::shared_ptr<os::SharedBufferRegistry> registry_ =
      std::make_shared<os::SharedBufferRegistry>();
  std::mutex mutex_;  // of the two endpoints' pointers, for Abort
  absl::Status aborted_;
  std::unique_ptr<net::Endpoint> control_endpoint_;
  std::unique_ptr<net::Endpoint> measured_endpoint_;
  std::unique_ptr<Control> control_;
  allreduce::HostSharing sharing_;
  bool shares_all_ = false;  // whether all collectives go through shared memory
  // For the choice of algorithms.
  allreduce::CostFit fit_ = allreduce::DefaultFitOfTcp();
  std::optional<allreduce::CostFit> within_host_;  // none: as between hosts
  std::unique_ptr<allreduce::Communicator> communicator_;
  allreduce::SharedMemoryGroup::PathCounts paths_;  // when they were last asked for
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_RANK_LINKS_H_
