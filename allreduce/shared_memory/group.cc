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

void SharedMemoryGroup::Identify(const Frame& frame) {
  frame_ = frame;
  frame_.sender = static_cast<uint32_t>(endpoint_.rank());
  frame_.job = options_.job;
  frame_.group = options_.group;
  frame_.bytes = 0;
}

absl::Status SharedMemoryGroup::Run(const Frame& frame, const std::byte* from, std::byte* into) {
  RETURN_IF_ERROR(failure_);
  Identify(frame);
  frame_.algorithm = AlgorithmOf(frame.kind);
  frame_.step = 0;
  const absl::StatusOr<Call> call = Understand(from, into);
  if (!call.ok()) {
    endpoint_.Abort(call.status());
    return failure_ = call.status();
  }
  return Do(*call, 0);
}

absl::Status SharedMemoryGroup::ReduceToOwners(const Frame& frame, int owners,
                                               const std::byte* from, std::byte* into) {
  RETURN_IF_ERROR(failure_);
  Identify(frame);
  Call call = Half(Kind::kReduceScatter, owners);
  call.from = from;
  call.into = into + call.blocks[self()].offset * call.value_bytes;
  return Do(call, 0);
}

absl::Status SharedMemoryGroup::GatherFromOwners(const Frame& frame, int owners,
                                                 std::byte* values) {
  RETURN_IF_ERROR(failure_);
  Identify(frame);
  Call call = Half(Kind::kAllGather, owners);
  call.from = values + call.blocks[self()].offset * call.value_bytes;
  call.into = values;
  return Do(call, options_.ring_grace_s);
}

SharedMemoryGroup::Call SharedMemoryGroup::Half(Kind kind, int owners) const {
  CROSSOVER_CHECK(owners >= 1 && owners <= members(), "some members own values");
  const auto count = static_cast<int64_t>(frame_.count);
  Call call = {.frame = frame_,
               .kind = kind,
               .op = frame_.op == ReduceOp::kAverage ? ReduceOp::kSum : frame_.op,
               .from = nullptr,
               .into = nullptr,
               .value_bytes = static_cast<int64_t>(BytesOf(frame_.type)),
               .from_count = count,
               .into_count = count,
               .owners = owners,
               .blocks = CutEvenly(count, owners)};
  call.blocks.resize(static_cast<size_t>(members()), {count, 0});
  (kind == Kind::kAllGather ? call.from_count : call.into_count) = call.blocks[self()].length;
  return call;
}

// Whatever ends one member ends all, and the endpoint's other ranks.
absl::Status SharedMemoryGroup::Do(const Call& call, double grace_s) {
  if (members() == 1) {
    Alone(call);
    return absl::OkStatus();
  }
  failure_ = Together(call, grace_s);
  if (!failure_.ok()) endpoint_.Abort(failure_);
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
  Call call = {.frame = frame,
               .kind = frame.kind,
               .op = frame.op,
               .from = from,
               .into = into,
               .value_bytes = value_bytes,
               .from_count = gathers ? count / members() : count,
               .into_count = scatters ? count / members() : count};
  if (gathers || scatters) {
    call.owners = members();
    call.blocks = CutEvenly(count, members());
  }
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

int64_t SharedMemoryGroup::BytesGiven(const Call& call, int member) const {
  if (call.kind == Kind::kAllGather) return call.blocks[member].length * call.value_bytes;
  const bool gives = call.kind != Kind::kBroadcast || member == call.root;
  return gives ? call.from_count * call.value_bytes : 0;
}

absl::Status SharedMemoryGroup::Together(const Call& call, double grace_s) {
  // The first block is the longest.
  const int giver = call.kind == Kind::kBroadcast ? call.root : 0;
  const bool small = BytesGiven(call, giver) <= options_.small_bytes_max;
  const int64_t given_bytes = BytesGiven(call, self());
  Announcement& announcement = meeting_.Begin();
  if (!small) {
    announcement.from = Locate(call.from, given_bytes);
    announcement.into = Locate(call.into, call.into_count * call.value_bytes);
  } else if (given_bytes > 0) {
    std::memcpy(region_.small_values(self(), meeting_.index()), call.from,
                static_cast<size_t>(given_bytes));
  }
  RETURN_IF_ERROR(meeting_.Announce(call.frame, grace_s));
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
  const int64_t begin =
      call.kind == Kind::kReduceScatter ? call.blocks[self()].offset * call.value_bytes : 0;
  for (int member = 0; member < members(); ++member) {
    froms_[member] = region_.small_values(member, meeting_.index()) + begin;
  }
  switch (call.kind) {
    case Kind::kAllReduce:
    case Kind::kReduceScatter:
      return CombineInOrder(call.frame.type, call.op, call.into, froms_, call.into_count);
    case Kind::kAllGather:
      for (int member = 0; member < call.owners; ++member) {
        std::memcpy(call.into + call.blocks[member].offset * call.value_bytes, froms_[member],
                    static_cast<size_t>(BytesGiven(call, member)));
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
