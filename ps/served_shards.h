// The parts that one server owns, each behind its own lock, with the replies that
// their rules let go and the figures for the server's report. Knows frames and
// buffers, but no streams.
#ifndef CROSSOVER_PS_SERVED_SHARDS_H_
#define CROSSOVER_PS_SERVED_SHARDS_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/shard_plan.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/status.pb.h"
#include "ps/payload.h"
#include "ps/policy.h"
#include "ps/push_recorder.h"
#include "ps/shard.h"
#include "ps/wire.h"

namespace crossover::ps {

// A message ready for a worker's stream. Replies to several workers share one
// copy of the values.
struct Reply {
  int worker = 0;
  grpc::ByteBuffer message;
};

// Thread-safe. Calls for one part exclude one another; parts are independent.
// Headers must have passed CheckPart. Errors change nothing and concern the
// calling worker alone.
class ServedShards {
 public:
  // `job` is validated; `clock` must outlive this.
  ServedShards(const proto::Job& job, const WorkerPlan& worker_plan, ShardPlan plan, int server,
               const Clock& clock);
  ~ServedShards();

  const WorkerPlan& worker_plan() const { return worker_plan_; }
  const ShardPlan& plan() const { return plan_; }
  // The most messages that can wait for a worker that reads them: for each part the
  // answers to an initialize, a pull and a push; and to a plan and a leave.
  size_t queued_max() const { return 3 * plan_.server_parts[server_].size() + 2; }

  // Rank 0's first parameters of a part: an ack, and the pulls that waited for them.
  absl::StatusOr<std::vector<Reply>> Initialize(int worker, const FrameHeader& header,
                                                const Payload& values);
  // The part as it is; once it has been initialized if it has not. One at a time
  // for a worker and part.
  absl::StatusOr<std::vector<Reply>> Pull(int worker, const FrameHeader& header);
  absl::StatusOr<std::vector<Reply>> Push(int worker, const FrameHeader& header,
                                          const Payload& values);

  struct LeaveOutcome {
    std::vector<Reply> replies;
    std::vector<int> stranded;  // may name a worker more than once
    absl::Status failure;       // of the stranded
  };
  LeaveOutcome Leave(int worker);

  // Sums into every field that a shard knows of.
  void AddTo(proto::ServerReport& report) const;
  // Steps, parts, versions, and each worker's unanswered parts; it has all workers.
  void AddTo(proto::ServerStatus& status) const;

 private:
  struct ServedPart;
  ServedPart& PartOf(const FrameHeader& header) { return *parts_[header.part]; }
  std::vector<Reply> Replies(ServedPart& part, uint32_t id, const std::vector<Release>& released);

  const Policy policy_;
  const WorkerPlan worker_plan_;
  const ShardPlan plan_;
  const int server_;
  const Clock& clock_;
  PushRecorder recorder_;
  std::vector<std::unique_ptr<ServedPart>> parts_;  // by part id; null where another's
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SERVED_SHARDS_H_
