#include "ps/part_versions.h"

#include <algorithm>
#include <functional>

namespace crossover::ps {

void PartVersions::BeginStep() {
  const auto differ = std::ranges::adjacent_find(versions_, std::not_equal_to<>());
  if (differ != versions_.end()) ++counts_.mixed_version_steps;
}

void PartVersions::CountReply(int part, int64_t version, bool late) {
  const int64_t own_updates = late ? 0 : 1;
  counts_.late_pushes += late ? 1 : 0;
  counts_.staleness_max = std::max(counts_.staleness_max, version - versions_[part] - own_updates);
}

int64_t PartVersions::oldest() const { return *std::ranges::min_element(versions_); }

}  // namespace crossover::ps
