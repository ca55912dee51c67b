// One worker's life: join, load, connect, train, evaluate, report, leave.
#ifndef CROSSOVER_WORKER_WORKER_H_
#define CROSSOVER_WORKER_WORKER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/strategy.h"
#include "core/timeline.h"
#include "net/wire_bytes.h"
#include "os/shared_memory.h"
#include "process/membership_session.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "worker/links.h"
#include "worker/trainer.h"
#include "worker/watchdog.h"

namespace crossover::worker {

struct WorkerOptions {
  proto::Job job;  // validated
  int rank = 0;
  std::string token;
  std::string tls_pem;  // as in net::Identity
  std::string rendezvous_address;
  // Whether this worker is the meeting point (rank 0 of a run started by hand).
  bool hosts_rendezvous = false;
  // Where it listens for its peers; port 0 chooses one.
  std::string listen_host = "127.0.0.1";
  int listen_port = 0;
  // Files to write at the end, "" for none: a serialised proto::ProcessReport, and
  // the final parameters as raw little-endian fp32 in the flat layout's order.
  std::string report_path;
  std::string parameters_path;
  // Takes the few lines that a log should hold; never empty.
  std::function<void(const std::string&)> log;
};

// Run on one thread; Stop from any.
class Worker {
 public:
  // `clock` outlives the worker.
  Worker(WorkerOptions options, Clock& clock);
  ~Worker();

  // Blocks until the run has ended for this worker. Errors: one line that names who
  // failed, where and in which step.
  absl::Status Run();

  // Ends the run for everyone: this worker was told to stop. False where it has not joined
  // yet, so that there is nothing to end in order.
  bool Stop(const absl::Status& why);

 private:
  // Where the other workers reach this one; "" where none connects to it.
  absl::StatusOr<std::string> Listen();
  absl::Status Train();
  absl::Status TrainOver(Links& links, const TrainTest& data, const StepPlan& plan, Model& model,
                         const BucketPlan& buckets);
  // What the training loop leaves behind.
  struct Trained {
    TrainingResult training;
    int64_t finished_ns = 0;  // the strategy has finished too
    StrategyCounters counters;
    net::WireBytes wire_before;  // of the training loop
    net::WireBytes wire_after;
    std::vector<proto::AllReduceRange> all_reduces;
    std::string divergence;  // why the training was stopped; "" where it was not
  };
  void LogEndOfTraining(const Trained& trained, int64_t samples_done) const;
  absl::Status WriteResults(const Trained& trained, const Dataset& test, const StepPlan& plan,
                            Model& model, const BucketPlan& buckets);
  absl::Status WriteReport(const Trained& trained,
                           const std::vector<proto::Evaluation>& evaluations, const StepPlan& plan,
                           Model& model, const BucketPlan& buckets);

  const WorkerOptions options_;
  Clock& clock_;
  Timeline timeline_;
  os::SharedBufferRegistry shared_buffers_;
  PeerListener listener_;
  Watchdog watchdog_;
  process::MembershipSession session_;  // last: an abort arms the watchdog
};

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_WORKER_H_
