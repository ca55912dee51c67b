#include "allreduce/shared_memory/group.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/combine.h"
#include "core/data_type.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

void CopyUnlessSame(std::byte* into, const std::byte* from, int64_t bytes) {
  if (bytes > 0 && into != from) std::memcpy(into, from, static_cast<size_t>(bytes));
}

// What frames say; every kind has its own.
Algorithm AlgorithmOf(Kind kind) {
  if (kind == Kind::kBroadcast) return Algorithm::kTree;
  return kind == Kind::kBarrier ? Algorithm::kDissemination : Algorithm::kDirect;
}

}  // namespace

Region::Shape SharedMemoryGroup::ShapeOf(const Options& options) {
  CROSSOVER_CHECK(!options.ranks.empty(), "a group has members");
  CROSSOVER_CHECK(options.small_bytes_max >= 0, "a size is not negative");
  CROSSOVER_CHECK(options.slot_bytes > 0 && options.slot_bytes % 64 == 0, "slots hold whole lines");
  CROSSOVER_CHECK(options.slot_bytes / 8 >= static_cast<int64_t>(options.ranks.size()),
                  "a slot holds a value for every member");
  // Whole cache lines, so that no two members write into one.
  const auto small_bytes = static_cast<uint64_t>((options.small_bytes_max + 63) / 64 * 64);
  return {options.job, options.group, static_cast<uint32_t>(options.ranks.size()), small_bytes,
          static_cast<uint64_t>(options.slot_bytes)};
}

SharedMemoryGroup::SharedMemoryGroup(const Options& options, Region region, net::Endpoint& endpoint,
                                     const os::SharedBufferRegistry& registry, const Clock& clock)
    : options_(options),
      region_(std::move(region)),
      endpoint_(endpoint),
      registry_(registry),
      meeting_(region_, options.ranks, options.meeting, endpoint, clock),
      mapped_(options.ranks.size()),
      froms_(options.ranks.size()),
      intos_(options.ranks.size()) {}

absl::StatusOr<std::unique_ptr<SharedMemoryGroup>> SharedMemoryGroup::Create(
    const Options& options, net::Endpoint& endpoint, const os::SharedBufferRegistry& registry,
    const Clock& clock) {
  ASSIGN_OR_RETURN(Region region, Region::Create(ShapeOf(options)));
  auto group = std::unique_ptr<SharedMemoryGroup>(
      new SharedMemoryGroup(options, std::move(region), endpoint, registry, clock));
  RETURN_IF_ERROR(group->region_.TakePlace(group->self()));
  return group;
}

absl::StatusOr<std::unique_ptr<SharedMemoryGroup>> SharedMemoryGroup::Attach(
    std::string_view descriptor, const Options& options, net::Endpoint& endpoint,
    const os::SharedBufferRegistry& registry, const Clock& clock) {
  ASSIGN_OR_RETURN(Region region, Region::Attach(descriptor, ShapeOf(options)));
  auto group = std::unique_ptr<SharedMemoryGroup>(
      new SharedMemoryGroup(options, std::move(region), endpoint, registry, clock));
  RETURN_IF_ERROR(group->region_.TakePlace(group->self()));
  return group;
}

absl::Status SharedMemoryGroup::Run(const Frame& frame, const std::byte* from, std::byte* into) {
  RETURN_IF_ERROR(failure_);
  frame_ = frame;
  frame_.algorithm = AlgorithmOf(frame.kind);
  frame_.sender = static_cast<uint32_t>(endpoint_.rank());
  frame_.job = options_.job;
  frame_.group = options_.group;
  frame_.step = 0;
  frame_.bytes = 0;
  absl::StatusOr<Call> call = Understand(from, into);
  if (!call.ok()) {
    endpoint_.Abort(call.status());
    return failure_ = call.status();
  }
  if (members() == 1) {
    Alone(*call);
  } else {
    failure_ = Together(*call);
  }
  return failure_;
}

absl::StatusOr<SharedMemoryGroup::Call> SharedMemoryGroup::Understand(const std::byte* from,
                                                                      std::byte* into) {
  const Frame& frame = frame_;
  const auto value_bytes = static_cast<int64_t>(BytesOf(frame.type));
  const auto wrong = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", endpoint_.rank(), ": ", Describe(frame), ": ", why));
  };
  if (frame.count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / value_bytes)) {
    return wrong("more values than there can be");
  }
  const auto count = static_cast<int64_t>(frame.count);
  const bool scatters = frame.kind == Kind::kReduceScatter;
  const bool gathers = frame.kind == Kind::kAllGather;
  if ((scatters || gathers) && count % members() != 0) {
    return wrong(absl::StrCat("the values are not ", members(), " equal blocks"));
  }
  if (frame.kind == Kind::kBarrier && count != 0) return wrong("a barrier has no values");
  Call call = {frame, from, into, value_bytes, count, count, 0};
  if (gathers) call.from_count = count / members();
  if (scatters) call.into_count = count / members();
  if (frame.kind == Kind::kBroadcast) {
    const auto root = std::ranges::find(options_.ranks, static_cast<int>(frame.root));
    if (root == options_.ranks.end()) return wrong("its root is not on this host");
    call.root = static_cast<int>(root - options_.ranks.begin());
  }
  return call;
}

void SharedMemoryGroup::Alone(const Call& call) {
  CopyUnlessSame(call.into, call.from, call.into_count * call.value_bytes);
}

bool SharedMemoryGroup::Gives(const Call& call, int member) const {
  return call.frame.kind != Kind::kBroadcast || member == call.root;
}

absl::Status SharedMemoryGroup::Together(const Call& call) {
  const int64_t from_bytes = call.from_count * call.value_bytes;
  const bool small = from_bytes <= options_.small_bytes_max;
  Announcement& announcement = meeting_.Begin();
  if (!small) {
    announcement.from = Locate(call.from, from_bytes);
    announcement.into = Locate(call.into, call.into_count * call.value_bytes);
  } else if (Gives(call, self()) && from_bytes > 0) {
    std::memcpy(region_.small_values(self(), meeting_.index()), call.from,
                static_cast<size_t>(from_bytes));
  }
  RETURN_IF_ERROR(meeting_.Announce(call.frame));
  if (small) {
    FinishSmall(call);
    ++paths_.small;
    return absl::OkStatus();
  }
  bool done = false;
  RETURN_IF_ERROR(RunFused(call, &done));
  ++(done ? paths_.fused : paths_.staged);
  return done ? absl::OkStatus() : RunStaged(call);
}

// No meeting at the end: the values stay until the announcement after the next.
void SharedMemoryGroup::FinishSmall(const Call& call) {
  const int64_t into_bytes = call.into_count * call.value_bytes;
  if (into_bytes == 0) return;
  const int64_t block = self() * into_bytes;  // of a ReduceScatter
  const bool scatters = call.frame.kind == Kind::kReduceScatter;
  for (int member = 0; member < members(); ++member) {
    froms_[member] = region_.small_values(member, meeting_.index()) + (scatters ? block : 0);
  }
  switch (call.frame.kind) {
    case Kind::kAllReduce:
    case Kind::kReduceScatter:
      return CombineInOrder(call.frame.type, call.frame.op, call.into, froms_, call.into_count);
    case Kind::kAllGather:
      for (int member = 0; member < members(); ++member) {
        const int64_t bytes = call.from_count * call.value_bytes;
        std::memcpy(call.into + member * bytes, froms_[member], static_cast<size_t>(bytes));
      }
      return;
    case Kind::kBroadcast:
      std::memcpy(call.into, froms_[call.root], static_cast<size_t>(into_bytes));
      return;
    case Kind::kBarrier:
      return;
  }
}

}  // namespace crossover::allreduce
