#include "allreduce/host_sharing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

// Holds any descriptor, padded with zeros.
using Descriptor = std::array<char, 256>;

absl::StatusOr<std::vector<int>> FindHosts(Communicator& communicator,
                                           std::optional<uint64_t> host) {
  const int world_size = communicator.world_size();
  // A rank that does not know its host has a number that no other gives.
  std::vector<std::array<uint64_t, 2>> hosts(static_cast<size_t>(world_size));
  const std::array<uint64_t, 2> own = {host.value_or(0),
                                       host ? 0 : static_cast<uint64_t>(communicator.rank()) + 1};
  RETURN_IF_ERROR(communicator.Run({.kind = Kind::kAllGather,
                                    .type = DataType::kInt64,
                                    .count = 2,
                                    .input = own.data(),
                                    .output = hosts.data(),
                                    .name = "hosts",
                                    .algorithm = {}}));
  std::vector<int> host_of;
  std::vector<std::array<uint64_t, 2>> known;
  for (const std::array<uint64_t, 2>& each : hosts) {
    const auto found = std::find(known.begin(), known.end(), each);
    host_of.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(each);
  }
  return host_of;
}

// Whether all ranks say so.
absl::StatusOr<bool> All(Communicator& communicator, bool mine, absl::string_view what) {
  int32_t all = mine ? 1 : 0;
  RETURN_IF_ERROR(communicator.Run({.kind = Kind::kAllReduce,
                                    .type = DataType::kInt32,
                                    .op = ReduceOp::kMin,
                                    .count = 1,
                                    .input = &all,
                                    .output = &all,
                                    .name = what,
                                    .algorithm = {}}));
  return all == 1;
}

// The ranks of this rank's host.
std::vector<int> Mates(const std::vector<int>& host_of, int rank) {
  std::vector<int> mates;
  for (int other = 0; other < static_cast<int>(host_of.size()); ++other) {
    if (host_of[other] == host_of[rank]) mates.push_back(other);
  }
  return mates;
}

using GroupOrNot = absl::StatusOr<std::unique_ptr<SharedMemoryGroup>>;

// Each host's first rank makes the memory and tells how to get at it. The outer errors are the
// communicator's; a rank that has its host to itself gets null.
absl::StatusOr<GroupOrNot> MakeGroup(Communicator& communicator,
                                     const SharedMemoryGroup::Options& options,
                                     const os::SharedBufferRegistry& registry, const Clock& clock) {
  const bool alone = options.ranks.size() == 1;
  const int first = options.ranks.front();
  GroupOrNot group = nullptr;
  Descriptor own{};
  if (communicator.rank() == first && !alone) {
    group = SharedMemoryGroup::Create(options, communicator.endpoint(), registry, clock);
    const std::string text = group.ok() ? (*group)->descriptor() : "";
    CROSSOVER_CHECK(text.size() < own.size(), "a descriptor is short");
    std::memcpy(own.data(), text.data(), text.size());
  }
  std::vector<Descriptor> all(static_cast<size_t>(communicator.world_size()));
  RETURN_IF_ERROR(communicator.Run({.kind = Kind::kAllGather,
                                    .type = DataType::kInt32,
                                    .count = static_cast<int64_t>(own.size() / 4),
                                    .input = own.data(),
                                    .output = all.data(),
                                    .name = "shared memory",
                                    .algorithm = {}}));
  if (communicator.rank() != first) {
    all[first].back() = 0;
    group = SharedMemoryGroup::Attach(all[first].data(), options, communicator.endpoint(), registry,
                                      clock);
  }
  return group;
}

}  // namespace

absl::StatusOr<HostSharing> ShareHost(Communicator& communicator, std::optional<uint64_t> host,
                                      SharedMemoryGroup::Options options,
                                      const os::SharedBufferRegistry& registry,
                                      const Clock& clock) {
  HostSharing sharing;
  ASSIGN_OR_RETURN(sharing.host_of, FindHosts(communicator, host));
  const int ranks = communicator.world_size();
  const int hosts = *std::max_element(sharing.host_of.begin(), sharing.host_of.end()) + 1;
  if (hosts == ranks) {
    sharing.reason = hosts > 1 ? absl::StrCat("ranks are on ", hosts, " hosts") : "one rank";
    return sharing;
  }
  options.ranks = Mates(sharing.host_of, communicator.rank());
  options.job = communicator.options().job;
  options.group = communicator.options().group;
  ASSIGN_OR_RETURN(GroupOrNot group, MakeGroup(communicator, options, registry, clock));
  ASSIGN_OR_RETURN(const bool all, All(communicator, group.ok(), "shared memory"));
  if (!all) {
    sharing.reason = group.ok() ? "another rank could not map the shared memory"
                                : std::string(group.status().message());
    return sharing;
  }
  sharing.group = *std::move(group);
  sharing.extent = hosts == 1 ? HostSharing::Extent::kAllRanks : HostSharing::Extent::kWithinHosts;
  sharing.reason = hosts == 1 ? absl::StrCat("all ", ranks, " ranks are on this host")
                              : absl::StrCat(ranks, " ranks are on ", hosts, " hosts");
  return sharing;
}

}  // namespace crossover::allreduce
