#include "allreduce/communicator.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allreduce/two_level.h"
#include "core/check.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

// Buckets of a step, mostly: with more the first ones are planned anew in every step.
constexpr size_t kPlansMax = 32;

// Whoever has sent by reference hears from each of its receivers that all has come.
Step Acknowledgement(const Schedule& schedule) {
  std::set<int> received_from;
  std::set<int> sent_to;
  for (const Step& step : schedule) {
    for (const Transfer& send : step.sends) sent_to.insert(send.peer);
    for (const Transfer& receive : step.receives) received_from.insert(receive.peer);
  }
  Step step;
  for (const int peer : received_from) step.sends.push_back({peer, {}});
  for (const int peer : sent_to) step.receives.push_back({peer, {}});
  step.ordered = true;
  return step;
}

}  // namespace

Communicator::Communicator(net::Endpoint& endpoint, Options options, const Clock& clock)
    : endpoint_(endpoint),
      options_(std::move(options)),
      engine_(endpoint, options_.engine, clock) {}

absl::StatusOr<int64_t> Communicator::Start(const Request& request) {
  RETURN_IF_ERROR(Check(request));
  if (shared_memory_ != nullptr) {
    // Combines in the order of the ranks, as direct does.
    RETURN_IF_ERROR(shared_memory_->Run(FrameOf(request, Algorithm::kDirect),
                                        static_cast<const std::byte*>(request.input),
                                        static_cast<std::byte*>(request.output)));
    return started_++;
  }
  const Plan& plan = PlanOf(request);
  Operation operation{.frame = FrameOf(request, plan.algorithm),
                      .schedule = plan.schedule,
                      .buffer = nullptr,
                      .contributions = world_size(),
                      .borrow = plan.borrow};
  if (InTwoLevels(plan.algorithm)) {
    RETURN_IF_ERROR(RunInTwoLevels(request, std::move(operation)));
  } else {
    operation.buffer = WorkingBuffer(request);
    engine_.Start(std::move(operation));
  }
  ++through_engine_;
  return started_++;
}

absl::Status Communicator::RunInTwoLevels(const Request& request, Operation operation) {
  if (through_engine_ > 0) RETURN_IF_ERROR(Finish(through_engine_ - 1));
  operation.buffer = static_cast<std::byte*>(request.output);
  return AllReduceInTwoLevels(std::move(operation), PlaceOf(request),
                              static_cast<const std::byte*>(request.input), *host_group_, engine_);
}

void Communicator::SetHosts(std::vector<int> host_of) {
  options_.host_of = std::move(host_of);
  DropPlans();
}

void Communicator::UseSharedMemory(SharedMemoryGroup& group) {
  CROSSOVER_CHECK(engine_.idle(), "nothing is in flight");
  const bool all = static_cast<int>(group.ranks().size()) == world_size();
  (all ? shared_memory_ : host_group_) = &group;
  DropPlans();
}

void Communicator::DropPlans() {
  plans_.clear();
  next_plan_ = 0;
}

absl::Status Communicator::Check(const Request& request) const {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        NameOf(request.kind), " of ", request.count, " ", NameOf(request.type),
        request.name.empty() ? "" : absl::StrCat(" \"", request.name, "\""), ": ", why));
  };
  const int64_t blocks = HasBlocks(request.kind) ? world_size() : 1;
  const int64_t value_bytes = static_cast<int64_t>(BytesOf(request.type));
  if (request.count < 0) return refuse("a count is not negative");
  if (request.count > std::numeric_limits<int64_t>::max() / blocks / value_bytes) {
    return refuse("more bytes than 63 bits count");
  }
  if (request.kind == Kind::kBarrier && request.count != 0) return refuse("has no values");
  if (request.count > 0 && (request.input == nullptr || request.output == nullptr)) {
    return refuse("a buffer is missing");
  }
  if (request.root < 0 || request.root >= world_size()) {
    return refuse(absl::StrCat("root ", request.root, " is no rank of ", world_size()));
  }
  if (request.algorithm && !HasAlgorithm(request.kind, *request.algorithm)) {
    return refuse(absl::StrCat("has no algorithm ", NameOf(*request.algorithm)));
  }
  return absl::OkStatus();
}

int64_t Communicator::LengthOf(const Request& request) const {
  return HasBlocks(request.kind) ? request.count * world_size() : request.count;
}

Place Communicator::PlaceOf(const Request& request) const {
  return {.rank = rank(),
          .world_size = world_size(),
          .root = request.root,
          .host_of = options_.host_of};
}

Frame Communicator::FrameOf(const Request& request, Algorithm algorithm) const {
  Frame frame;
  frame.kind = request.kind;
  frame.algorithm = algorithm;
  frame.type = request.type;
  frame.op = request.op;
  frame.job = options_.job;
  frame.group = options_.group;
  frame.sequence = static_cast<uint64_t>(started_);
  frame.count = static_cast<uint64_t>(LengthOf(request));
  if (request.kind == Kind::kBroadcast) frame.root = static_cast<uint32_t>(request.root);
  frame.name = NameInFrame({request.name.data(), request.name.size()});
  return frame;
}

Communicator::Plan Communicator::MakePlan(const Request& request) const {
  const int64_t length = LengthOf(request);
  const int64_t bytes = length * static_cast<int64_t>(BytesOf(request.type));
  const Place place = PlaceOf(request);
  Plan plan{.kind = request.kind,
            .type = request.type,
            .count = request.count,
            .root = request.root,
            .wanted = request.algorithm,
            .schedule = nullptr};
  plan.algorithm =
      request.algorithm ? *request.algorithm : options_.choose(request.kind, place, bytes);
  Schedule schedule = InTwoLevels(plan.algorithm)
                          ? BetweenHosts(place, length)
                          : MakeSchedule(request.kind, plan.algorithm, place, length);
  plan.borrow = endpoint_.borrows() && world_size() > 1 &&
                bytes / world_size() >= options_.borrow_bytes_min &&
                SafeToBorrow(request.kind, plan.algorithm);
  if (plan.borrow) schedule.push_back(Acknowledgement(schedule));
  plan.schedule = std::make_shared<const Schedule>(std::move(schedule));
  return plan;
}

const Communicator::Plan& Communicator::PlanOf(const Request& request) {
  const auto found =
      std::ranges::find_if(plans_, [&](const Plan& plan) { return plan.Serves(request); });
  if (found != plans_.end()) return *found;
  if (plans_.size() < kPlansMax) return plans_.emplace_back(MakePlan(request));
  Plan& plan = plans_[next_plan_];
  next_plan_ = (next_plan_ + 1) % kPlansMax;
  plan = MakePlan(request);
  return plan;
}

// Copies the input where the schedule expects it.
std::byte* Communicator::WorkingBuffer(const Request& request) {
  const int64_t value_bytes = static_cast<int64_t>(BytesOf(request.type));
  const int64_t block_bytes = request.count * value_bytes;
  auto* output = static_cast<std::byte*>(request.output);
  const auto* input = static_cast<const std::byte*>(request.input);
  switch (request.kind) {
    case Kind::kBarrier:
      return nullptr;
    case Kind::kAllGather: {
      std::byte* own = output + rank() * block_bytes;
      if (input != own && block_bytes > 0) std::memcpy(own, input, block_bytes);
      return output;
    }
    case Kind::kReduceScatter: {
      const int64_t bytes = block_bytes * world_size();
      if (output == input + rank() * block_bytes) return output - rank() * block_bytes;
      scratch_.push_back({.number = started_,
                          .buffer = std::vector<std::byte>(input, input + bytes),
                          .output = output,
                          .bytes = block_bytes});
      return scratch_.back().buffer.data();
    }
    case Kind::kAllReduce:
    case Kind::kBroadcast:
      if (input != output && block_bytes > 0) std::memcpy(output, input, block_bytes);
      return output;
  }
  return output;
}

absl::StatusOr<bool> Communicator::Progress() {
  ASSIGN_OR_RETURN(const bool moved, engine_.Progress());
  HandOutScratch();  // also where nothing moved: one rank's is done from the start
  return moved;
}

absl::Status Communicator::Wait() { return engine_.Wait(); }

absl::Status Communicator::Rest(bool moved) { return engine_.Rest(moved); }

bool Communicator::IsDone(int64_t number) const {
  return number >= through_engine_ || engine_.IsDone(number);
}

absl::Status Communicator::Finish(int64_t number) {
  if (number >= through_engine_) return absl::OkStatus();
  RETURN_IF_ERROR(engine_.Finish(number));
  HandOutScratch();
  return absl::OkStatus();
}

void Communicator::HandOutScratch() {
  while (!scratch_.empty() && engine_.IsDone(scratch_.front().number)) {
    const Scratch& done = scratch_.front();
    if (done.bytes > 0) {
      std::memcpy(done.output, done.buffer.data() + rank() * done.bytes, done.bytes);
    }
    scratch_.pop_front();
  }
}

absl::Status Communicator::Run(const Request& request) {
  ASSIGN_OR_RETURN(const int64_t number, Start(request));
  return Finish(number);
}

absl::Status Communicator::AllReduceSum(std::span<float> values, absl::string_view name) {
  return Run({.kind = Kind::kAllReduce,
              .type = DataType::kFloat32,
              .op = ReduceOp::kSum,
              .count = static_cast<int64_t>(values.size()),
              .input = values.data(),
              .output = values.data(),
              .name = name,
              .algorithm = {}});
}

absl::Status Communicator::Broadcast(std::span<float> values, int root, absl::string_view name) {
  return Run({.kind = Kind::kBroadcast,
              .type = DataType::kFloat32,
              .count = static_cast<int64_t>(values.size()),
              .input = values.data(),
              .output = values.data(),
              .root = root,
              .name = name,
              .algorithm = {}});
}

}  // namespace crossover::allreduce
