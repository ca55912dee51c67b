// Collectives among the ranks of a group: what a training strategy or a benchmark calls. Chooses
// an algorithm, turns the call into a schedule, and has the engine run it; counts collectives, so
// that ranks whose calls differ (in order, kind, size, type, operation, root or name) all end
// with an error that shows both sides.
//
// Belongs to one thread (allreduce/collective_thread.h runs one in the background). All ranks
// make the same calls in the same order. Buffers are borrowed until the call's number is
// finished. World size 1 and empty buffers are identities. After an error it is of no more use.
#ifndef CROSSOVER_ALLREDUCE_COMMUNICATOR_H_
#define CROSSOVER_ALLREDUCE_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "allreduce/algorithms.h"
#include "allreduce/engine.h"
#include "allreduce/flight.h"
#include "allreduce/schedule.h"
#include "allreduce/shared_memory/group.h"
#include "core/clock.h"
#include "core/data_type.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

class Communicator {
 public:
  struct Options {
    uint64_t job = 0;    // fingerprint
    uint32_t group = 0;  // tells groups of one job apart
    Engine::Options engine;
    // By rank, for hierarchical; empty: every rank on a host of its own.
    std::vector<int> host_of;
    // The algorithm for a kind and the bytes of its working buffer; the same on every rank,
    // whatever `place.rank` is. Asked once for calls that are alike.
    std::function<Algorithm(Kind kind, const Place& place, int64_t bytes)> choose;
    // Transfers of this length and longer are sent by reference where the endpoint can.
    int64_t borrow_bytes_min = 64 << 10;
  };

  struct Request {
    Kind kind = Kind::kAllReduce;
    DataType type = DataType::kFloat32;
    ReduceOp op = ReduceOp::kSum;
    // AllReduce, Broadcast: values of the buffer. ReduceScatter: values that a rank ends with; its
    // input has N blocks of them. AllGather: values that a rank begins with; its output has N.
    int64_t count = 0;
    // In place: AllReduce, Broadcast: input == output. AllGather: input is output's own block.
    // ReduceScatter: output is input's own block, and the other blocks lose their values.
    // Otherwise they do not overlap, and input keeps its values.
    const void* input = nullptr;
    void* output = nullptr;
    int root = 0;                        // of a Broadcast
    absl::string_view name;              // of the buffer, the same on every rank
    std::optional<Algorithm> algorithm;  // instead of the choice
  };

  // `endpoint` and `clock` are borrowed and outlive this.
  Communicator(net::Endpoint& endpoint, Options options, const Clock& clock);

  // `group` (allreduce/host_sharing.h makes it) has the ranks of this rank's host; it is borrowed
  // and outlives this. If those are all ranks, all later collectives go through it; otherwise
  // hierarchical does within the host (allreduce/two_level.h). Nothing is in flight.
  void UseSharedMemory(SharedMemoryGroup& group);
  // For hierarchical; see Options.
  void SetHosts(std::vector<int> host_of);

  // Begins a collective; the others in flight go on. Does not wait for peers, but where the
  // collective goes through shared memory: then it and all before it are done when this returns.
  // The number counts the group's collectives from 0.
  // Errors: a request that cannot be; an earlier failure.
  absl::StatusOr<int64_t> Start(const Request& request);
  // Moves what can be moved without blocking; whether anything moved.
  absl::StatusOr<bool> Progress();
  // Blocks until something may move or Endpoint::Wake.
  absl::Status Wait();
  // Between two calls of Progress, with what the first has returned: as Engine::Rest.
  absl::Status Rest(bool moved);
  bool IsDone(int64_t number) const;
  // Blocks until collective `number` is done: its output is right, its input may change.
  absl::Status Finish(int64_t number);
  // Start and Finish.
  absl::Status Run(const Request& request);

  // In place, fp32.
  absl::Status AllReduceSum(std::span<float> values, absl::string_view name);
  absl::Status Broadcast(std::span<float> values, int root, absl::string_view name);

  const Options& options() const { return options_; }
  int rank() const { return endpoint_.rank(); }
  int world_size() const { return endpoint_.world_size(); }
  const StreamCounters& counters() const { return engine_.counters(); }
  net::Endpoint& endpoint() { return endpoint_; }

 private:
  // A ReduceScatter that is not in place works in a buffer of its own.
  struct Scratch {
    int64_t number = 0;
    std::vector<std::byte> buffer;
    void* output = nullptr;
    int64_t bytes = 0;
  };

  // How calls that are alike in these arguments run.
  struct Plan {
    Kind kind = Kind::kAllReduce;
    DataType type = DataType::kFloat32;
    int64_t count = 0;
    int root = 0;
    std::optional<Algorithm> wanted;

    Algorithm algorithm = Algorithm::kRing;
    bool borrow = false;
    std::shared_ptr<const Schedule> schedule;  // the engine's part

    bool Serves(const Request& request) const {
      return kind == request.kind && type == request.type && count == request.count &&
             root == request.root && wanted == request.algorithm;
    }
  };

  absl::Status Check(const Request& request) const;
  int64_t LengthOf(const Request& request) const;  // of the working buffer, in values
  Place PlaceOf(const Request& request) const;
  Frame FrameOf(const Request& request, Algorithm algorithm) const;
  std::byte* WorkingBuffer(const Request& request);
  // Whether all but the ring between hosts goes through the host's memory.
  bool InTwoLevels(Algorithm algorithm) const {
    return algorithm == Algorithm::kHierarchical && host_group_ != nullptr;
  }
  Plan MakePlan(const Request& request) const;
  const Plan& PlanOf(const Request& request);
  void DropPlans();
  absl::Status RunInTwoLevels(const Request& request, Operation operation);
  void HandOutScratch();

  net::Endpoint& endpoint_;
  Options options_;
  Engine engine_;
  SharedMemoryGroup* shared_memory_ = nullptr;  // of all ranks
  SharedMemoryGroup* host_group_ = nullptr;     // of some
  int64_t started_ = 0;
  int64_t through_engine_ = 0;  // the first so many
  std::vector<Plan> plans_;     // of the latest calls that were not alike
  size_t next_plan_ = 0;        // the one to give up once there are kPlansMax
  std::deque<Scratch> scratch_;
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_COMMUNICATOR_H_
