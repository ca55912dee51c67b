// Processes that belong together (the ranks of a test, or of a peer's): started, watched to their
// end, and in every end gone with whatever they started.
#ifndef CROSSOVER_BENCH_SHARED_PROCESS_SET_H_
#define CROSSOVER_BENCH_SHARED_PROCESS_SET_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/run_hosts.h"
#include "experiments/launch/signal_waiter.h"

namespace crossover::bench {

// Belongs to the main thread.
class ProcessSet {
 public:
  // Both are borrowed. Processes that lose their parents become this process's children from now
  // on, so that what a launcher of a peer's started cannot stay behind.
  ProcessSet(experiments::SignalWaiter& signals, Clock& clock);
  // Kills what still runs.
  ~ProcessSet();

  // `name` is for errors: "rank 2". Returns the process's id.
  absl::StatusOr<int> Start(const std::string& name, const experiments::ChildOptions& options);
  // One that was started already, here or on another host.
  void Add(const std::string& name, const std::string& log_path,
           std::unique_ptr<experiments::StartedProcess> process);
  // Until all have ended (OK only if all ended well), one ended badly (named, with the last lines
  // of its log), `check` says otherwise, the time is over (DeadlineExceeded), or SIGINT or SIGTERM
  // came (Cancelled).
  absl::Status Watch(double seconds, const std::function<absl::Status()>& check = nullptr);
  // Whether all have ended within so long.
  bool WaitForEnds(double seconds);
  // Asks those that still run to end, and kills them after so long. For any end but a good one.
  void TakeDown(double seconds);
  // " (rank 1 was killed by signal 9 (Killed))" of those that a signal has killed; "" if none.
  std::string Killed();

 private:
  struct Process {
    std::string name;
    std::string log_path;
    std::unique_ptr<experiments::StartedProcess> started;
  };
  void KillOrphans();

  experiments::SignalWaiter& signals_;
  Clock& clock_;
  const std::set<pid_t> others_;  // children that were there before
  std::vector<Process> processes_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_PROCESS_SET_H_
