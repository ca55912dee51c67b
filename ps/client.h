// A worker's side of the parameter servers: long-lived streams to each, pushes
// and pulls in parts, replies written straight into the parameter buffer. One thread of its own
// receives and sends what credits allow.
//
// A reply may rightly be long in coming (a slow worker, a staleness bound), so waits
// end with the reply, with the stream (a server that dies, or that refuses what was
// sent), or through Abort, by which the rendezvous's news of a loss reach it. The
// bound step_s is for what nobody notices: processes alive that do not move.
#ifndef CROSSOVER_PS_CLIENT_H_
#define CROSSOVER_PS_CLIENT_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/bucket_plan.h"
#include "core/timeline.h"
#include "ps/client_options.h"
#include "ps/part_versions.h"

namespace crossover::ps {

// Payload of pushes and of the replies to them; initialisation, pulls and headers
// apart.
struct ClientCounters {
  int64_t sent_bytes = 0;
  int64_t received_bytes = 0;
  VersionCounts versions;
};

// Belongs to the compute thread, except where stated. After an error every call
// returns that error, and buffers lent to the client must stay until its destructor
// has returned: by then gRPC has dropped what it was lent.
//
// For each bucket and step it records a kPush span (from PushBucket until the last
// part has been written) and a kPull span (from there to the last reply), and for each
// step the longest time in which a bound held a reply back (Timeline::AddHeld).
class Client {
 public:
  using Options = ClientOptions;
  // Opens the streams and agrees on the plan; blocks. `buckets` is only read during
  // the call; `timeline` must outlive the client. Errors name the server: not reached
  // within connect_s, or what it refuses.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const Options& options,
                                                         const BucketPlan& buckets,
                                                         Timeline& timeline);
  // Ends the streams: a loss to the servers unless Leave was called. Blocks until gRPC
  // needs no buffer of the caller's any more. Where a server's host has gone silent with
  // a write under way that takes until the connection is given up (about 20 s); after
  // 60 s it ends the process rather than leave gRPC with freed memory.
  ~Client();

  // Rank 0: gives the servers their first parameters. Blocks until all have them.
  absl::Status Initialize(std::span<const float> parameters);
  // Fetches all parts as they are into `parameters`; remembers their versions. Blocks. Waits
  // for initialisation.
  absl::Status Pull(std::span<float> parameters);

  // Begins a synchronisation: pushes of `step` come from `source` and replies go to
  // `destination` (both of the flat buffer's length, borrowed until Wait returns;
  // they may be the same). Steps follow one another from 0; for pushes of parameters
  // they number the averagings.
  void BeginStep(int64_t step, std::span<const float> source, std::span<float> destination);
  // Pushes a bucket's parts, behind all earlier buckets and as the credits allow: the others
  // follow as replies come. Never blocks. Every bucket once a step, in any order.
  void PushBucket(int bucket);
  // Blocks until every part of the step has been answered.
  absl::Status Wait();

  // The oldest version among the parts. Between a step's Wait and the next step's first push.
  int64_t OldestVersion() const;

  // Tells the servers that this worker pushes no more, and ends the streams. Blocks.
  absl::Status Leave();
  // From any thread: everything ends with this status.
  void Abort(const absl::Status& why);
  // From any thread.
  ClientCounters counters() const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_CLIENT_H_
