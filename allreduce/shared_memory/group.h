// Collectives among the ranks of one host through shared memory. Values take one of three paths,
// which is the same on all ranks:
//   small   up to small_bytes_max: they ride with the announcement; one meeting, and every rank
//           combines all.
//   fused   where every rank's buffers come from its registry: rank r combines its 1/N of the
//           values straight from all buffers and writes the result into all; two meetings.
//   staged  otherwise: through slots, block by block.
// Every result is combined in the order of the ranks, halves rounded once, so that it is the same
// bits on every rank and path. An average is divided by the number of members.
//
// Belongs to one thread. All members call the same collectives in the same order; where they do
// not, every one ends with an error that shows both sides. Blocks as long as the others are away,
// but no longer than silence_s at a time. After an error it is of no more use (every call returns
// the error) and buffers hold undefined values; the endpoint has been aborted with it.
#ifndef CROSSOVER_ALLREDUCE_SHARED_MEMORY_GROUP_H_
#define CROSSOVER_ALLREDUCE_SHARED_MEMORY_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/frame.h"
#include "allreduce/schedule.h"
#include "allreduce/shared_memory/meeting.h"
#include "allreduce/shared_memory/region.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "os/shared_memory.h"

namespace crossover::allreduce {

class SharedMemoryGroup {
 public:
  // Equal on all members.
  struct Options {
    std::vector<int> ranks;  // the members, ascending: the endpoint's among them
    uint64_t job = 0;        // fingerprint
    uint32_t group = 0;      // tells groups of one job apart
    Meeting::Options meeting;
    int64_t small_bytes_max = 8 << 10;
    int64_t slot_bytes = 256 << 10;  // a multiple of 64
    // Out of place, results in buffers of at least so many bytes are written past the caches.
    int64_t stream_bytes_min = 16 << 20;
    double ring_grace_s = 1;  // see GatherFromOwners
  };
  // One member creates the memory and gives its descriptor to the others, which attach. Neither
  // waits for anybody. `endpoint` tells of peers that are dead or have given up, `registry` where
  // buffers lie; all three are borrowed and outlive this.
  static absl::StatusOr<std::unique_ptr<SharedMemoryGroup>> Create(
      const Options& options, net::Endpoint& endpoint, const os::SharedBufferRegistry& registry,
      const Clock& clock);
  static absl::StatusOr<std::unique_ptr<SharedMemoryGroup>> Attach(
      std::string_view descriptor, const Options& options, net::Endpoint& endpoint,
      const os::SharedBufferRegistry& registry, const Clock& clock);
  std::string descriptor() const { return region_.descriptor(); }

  // One collective. `frame` says which (allreduce/frame.h): kind, type, op, count, root, sequence
  // and name, equal on all members; the rest is ours to fill. M = frame.count values, N members,
  // block m is that of the m-th member; `from` and `into` are equal or disjoint unless stated.
  //   AllReduce      from: M values                   into: M values
  //   ReduceScatter  from: M values, N equal blocks   into: our block; may be its place in `from`
  //   AllGather      from: our block; may be its place in `into`
  //                                                   into: M values, N equal blocks
  //   Broadcast      from: M values, read at rank frame.root alone    into: M values
  //   Barrier        neither
  absl::Status Run(const Frame& frame, const std::byte* from, std::byte* into);

  // The two halves of an AllReduce of which the members are a part (allreduce/two_level.h); all
  // fields of `frame` but sender, job and group are the caller's, its step tells the halves apart.
  // CutEvenly(frame.count, owners) says which values the first `owners` members own.
  //   ReduceToOwners    from: M values   into: room for M, of which the owned values become the
  //                     members' sum (with kAverage, too), min or max; may be `from`
  //   GatherFromOwners  values: M, of which this member's own are right before and all after. Who
  //                     owns values may have been at work elsewhere: others wait longer than
  //                     silence_s by ring_grace_s, and as long as it calls Pulse.
  absl::Status ReduceToOwners(const Frame& frame, int owners, const std::byte* from,
                              std::byte* into);
  absl::Status GatherFromOwners(const Frame& frame, int owners, std::byte* values);
  // Tells members that wait for this one that it moves on.
  void Pulse() { meeting_.Pulse(); }

  const std::vector<int>& ranks() const { return options_.ranks; }

  // How many collectives took each path.
  struct PathCounts {
    int64_t small = 0;
    int64_t fused = 0;
    int64_t staged = 0;
  };
  const PathCounts& path_counts() const { return paths_; }

 private:
  // A collective's arguments, and what follows from them.
  struct Call {
    const Frame& frame;  // with all fields filled
    Kind kind;           // what the members do: a half of the frame's, or all of it
    ReduceOp op;
    const std::byte* from;
    std::byte* into;
    int64_t value_bytes;
    int64_t from_count;  // values that this rank gives
    int64_t into_count;  // values that it gets
    int root = 0;        // the member
    // Of ReduceScatter and AllGather: the first `owners` members have a block each.
    int owners = 0;
    std::vector<Segment> blocks = {};  // by member
  };
  SharedMemoryGroup(const Options& options, Region region, net::Endpoint& endpoint,
                    const os::SharedBufferRegistry& registry, const Clock& clock);
  static Region::Shape ShapeOf(const Options& options);

  void Identify(const Frame& frame);
  absl::StatusOr<Call> Understand(const std::byte* from, std::byte* into);
  Call Half(Kind kind, int owners) const;
  absl::Status Do(const Call& call, double grace_s);
  void Alone(const Call& call);
  absl::Status Together(const Call& call, double grace_s);
  int64_t BytesGiven(const Call& call, int member) const;

  // Each after its announcement, which has been compared.
  void FinishSmall(const Call& call);
  absl::Status RunFused(const Call& call, bool* done);
  absl::Status RunStaged(const Call& call);

  Location Locate(const std::byte* begin, int64_t bytes) const;
  // The other members' buffers, mapped here; false if one lies in private memory.
  absl::StatusOr<bool> MapAll(const Call& call);
  absl::StatusOr<std::byte*> Map(int member, const Location& location, int64_t bytes);
  void FuseAllReduce(const Call& call);
  void FuseReduceScatter(const Call& call);
  void FuseAllGather(const Call& call);
  void FuseBroadcast(const Call& call);

  absl::Status StageAllReduceOfTwo(const Call& call);
  absl::Status StageAllReduce(const Call& call);
  absl::Status StageReduceScatter(const Call& call);
  absl::Status StageAllGather(const Call& call);
  absl::Status StageBroadcast(const Call& call);

  int members() const { return meeting_.members(); }
  int self() const { return meeting_.self(); }

  const Options options_;
  const Region region_;
  net::Endpoint& endpoint_;
  const os::SharedBufferRegistry& registry_;
  Meeting meeting_;
  absl::Status failure_;  // OK until the first
  Frame frame_;           // of the present collective
  PathCounts paths_;
  std::vector<std::vector<os::MappedPeerBuffer>> mapped_;  // by member
  std::vector<const std::byte*> froms_;                    // of the present collective, by member
  std::vector<std::byte*> intos_;
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SHARED_MEMORY_GROUP_H_
