#include "bench/comm/shared_memory_ranks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/status.h"

namespace crossover::bench {

using allreduce::Kind;
using allreduce::SharedMemoryGroup;

absl::StatusOr<std::unique_ptr<SharedMemoryRanks>> SharedMemoryRanks::Open(
    Control& control, net::Endpoint& endpoint, uint64_t job, double silence_s, bool yield,
    const Clock& clock) {
  std::unique_ptr<SharedMemoryRanks> ranks(new SharedMemoryRanks(control.world_size()));
  SharedMemoryGroup::Options options;
  options.ranks.resize(control.world_size());
  std::iota(options.ranks.begin(), options.ranks.end(), 0);
  options.job = job;
  options.meeting.silence_s = silence_s;
  options.meeting.yield = yield;
  std::string descriptor;
  if (control.rank() == 0) {
    ASSIGN_OR_RETURN(ranks->group_,
                     SharedMemoryGroup::Create(options, endpoint, *ranks->registry_, clock));
    descriptor = ranks->group_->descriptor();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> descriptors, control.Exchange(descriptor));
  if (control.rank() != 0) {
    ASSIGN_OR_RETURN(ranks->group_, SharedMemoryGroup::Attach(descriptors[0], options, endpoint,
                                                              *ranks->registry_, clock));
  }
  RETURN_IF_ERROR(control.Barrier());
  return ranks;
}

absl::Status SharedMemoryRanks::Run(const allreduce::Communicator::Request& request) {
  const bool has_blocks = request.kind == Kind::kReduceScatter || request.kind == Kind::kAllGather;
  allreduce::Frame frame;
  frame.kind = request.kind;
  frame.algorithm = allreduce::Algorithm::kDirect;
  frame.type = request.type;
  frame.op = request.op;
  frame.sequence = sequence_++;
  frame.count = static_cast<uint64_t>(request.count * (has_blocks ? world_size_ : 1));
  frame.root = static_cast<uint32_t>(request.root);
  frame.name = std::string(request.name);
  return group_->Run(std::move(frame), static_cast<const std::byte*>(request.input),
                     static_cast<std::byte*>(request.output));
}

absl::StatusOr<Buffer> SharedMemoryRanks::Allocate(int64_t bytes) {
  ASSIGN_OR_RETURN(std::byte* const memory,
                   registry_->Allocate("comm_test", std::max<int64_t>(bytes, 1)));
  return Buffer(std::shared_ptr<std::byte>(
      memory, [registry = registry_](std::byte* at) { registry->Free(at); }));
}

std::string SharedMemoryRanks::PathOf(int64_t bytes, bool shared_buffers) {
  if (bytes <= SharedMemoryGroup::Options().small_bytes_max) return "small";
  return shared_buffers ? "fused" : "staged";
}

}  // namespace crossover::bench
