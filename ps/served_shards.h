// The parts that one server owns, with the replies that their rules let go and the figures for the
// server's report. Knows frames and buffers, but no streams.
//
// Memory: the parameters, the optimizer's state, and what is under way. A worker has at most
// ps.credits pushes at a server that lack an answer. Each of them holds at most three buffers of
// a part: as it was received, until it has been summed; as the sum it opened, or as
// a contribution that waits for its turn in deterministic mode; and as its reply, until that has
// left. Replies to all workers share one buffer. So held_bytes_max() of the report
// (transient_bytes_max) is at most 4 x workers x credits x ps.part_bytes, whatever the model's
// size. Where servers clip, means of all parts wait for their norm at once, and as many bytes as
// the parameters have come on top. A received push is held within gRPC's read buffers, which may be
// larger than it (256 KiB), and gRPC reads ahead by a connection's window.
#ifndef CROSSOVER_PS_SERVED_SHARDS_H_
#define CROSSOVER_PS_SERVED_SHARDS_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/shard_plan.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/status.pb.h"
#include "ps/part_pool.h"
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
  uint32_t part = 0;
  grpc::ByteBuffer message;
};

// Each part belongs to one of several lanes (ps/apply_lanes.h): calls for the parts of one lane
// must not overlap. A part's lock is for AddTo, which may come at any time. Headers must have
// passed CheckPart. Errors change nothing and concern the calling worker alone.
class ServedShards {
 public:
  // `job` is validated; `clock` must outlive this.
  ServedShards(const proto::Job& job, const WorkerPlan& worker_plan, ShardPlan plan, int server,
               int lanes, const Clock& clock);
  ~ServedShards();

  const WorkerPlan& worker_plan() const { return worker_plan_; }
  const ShardPlan& plan() const { return plan_; }
  // The most messages that can wait for a worker that reads them: for each part the
  // answers to an initialize, a pull and a push; and to a plan and a leave. (Where servers clip, a
  // push has two answers, but a worker asks for the second after it has read the first.)
  size_t queued_max() const { return 3 * plan_.server_parts[server_].size() + 2; }

  DataType wire() const { return wire_; }
  int LaneOf(const FrameHeader& header) const { return lanes_[header.part]; }
  // On which of a worker's streams the part travels.
  int ChannelOf(uint32_t part) const { return channel_of_part_[part]; }
  // What this server holds and how evenly servers and lanes share, in words.
  std::string Summary() const;
  // Counts what was received, until it is let go of.
  PartPool& pool() { return *pool_; }

  // Rank 0's first parameters of a part: an ack, and the pulls that waited for them.
  absl::StatusOr<std::vector<Reply>> Initialize(int worker, const FrameHeader& header,
                                                const Payload& values);
  // The part as it is; once it has been initialized if it has not. One at a time
  // for a worker and part.
  absl::StatusOr<std::vector<Reply>> Pull(int worker, const FrameHeader& header);
  absl::StatusOr<std::vector<Reply>> Push(int worker, const FrameHeader& header,
                                          const Payload& values);

  // `payload` is the norm.
  absl::StatusOr<std::vector<Reply>> GiveNorm(int worker, const FrameHeader& header,
                                              const Payload& payload);

  struct LeaveOutcome {
    std::vector<Reply> replies;
    std::vector<int> stranded;  // may name a worker more than once
    absl::Status failure;       // of the stranded
  };
  // For the parts of one lane.
  LeaveOutcome Leave(int worker, int lane);

  // Sums into every field that a shard knows of.
  void AddTo(proto::ServerReport& report) const;
  // Steps, parts, versions, and each worker's unanswered parts; it has all workers.
  void AddTo(proto::ServerStatus& status) const;

 private:
  struct ServedPart;
  ServedPart& PartOf(const FrameHeader& header) { return *parts_[header.part]; }
  std::vector<Reply> Squares(const ServedPart& part, const FrameHeader& push,
                             const std::vector<int>& workers) const;
  std::vector<Reply> Replies(ServedPart& part, uint32_t id, const std::vector<Release>& released);

  const Policy policy_;
  const WorkerPlan worker_plan_;
  const ShardPlan plan_;
  const int server_;
  const DataType wire_;
  const Clock& clock_;
  const std::shared_ptr<PartPool> pool_;
  const int lane_count_;
  const std::vector<int> lanes_;  // by part id; -1 where another's
  PushRecorder recorder_;
  const std::vector<int> channel_of_part_;
  std::vector<std::unique_ptr<ServedPart>> parts_;  // by part id; null where another's
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_SERVED_SHARDS_H_
