// A worker's side of the parameter servers: one long-lived stream to each, pushes
// and pulls in parts, replies written straight into the parameter buffer.
#ifndef CROSSOVER_PS_CLIENT_H_
#define CROSSOVER_PS_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/shard_plan.h"
#include "core/timeline.h"
#include "net/identity.h"

namespace crossover::ps {

struct ClientCounters {
  int64_t sent_bytes = 0;      // payload
  int64_t received_bytes = 0;  // payload
};

// Thread-safe where stated; otherwise belongs to the compute thread. Records a kPush span (first part handed over
// to last part written) and a kPull span (to the last reply) per bucket and step on the timeline.
class Client {
 public:
  struct Options {
    net::Identity identity;
    std::vector<std::string> servers;  // addresses by rank
    double connect_s = 60;
    double silence_s = 10;  // a reply that is not held back must come within this
  };
  // Opens the streams; blocks. `plan`, `timeline` outlive the client.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const Options& options,
                                                         const ShardPlan& plan,
                                                         Timeline& timeline);
  ~Client();

  // Rank 0: gives the servers their first parameters. Blocks until all have them.
  absl::Status Initialize(std::span<const float> parameters);
  // Fetches all parts as they are into `parameters`; remembers their versions. Blocks. Waits
  // for initialisation.
  absl::Status Pull(std::span<float> parameters);

  // Begins a synchronisation: pushes of `step` come from `source` and replies go to
  // `destination` (both of the flat buffer's length, borrowed until Wait returns;
  // they may be the same).
  void BeginStep(int64_t step, std::span<const float> source, std::span<float> destination);
  // Pushes a bucket's parts. Never blocks. Every bucket once a step.
  void PushBucket(int bucket);
  // Blocks until every part of the step has been answered.
  absl::Status Wait();

  // Tells the servers that this worker pushes no more. Blocks.
  absl::Status Leave();
  // From any thread: everything ends with this status.
  void Abort(const absl::Status& why);
  ClientCounters counters() const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_CLIENT_H_
