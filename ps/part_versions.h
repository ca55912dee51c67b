// The versions of the parts that a worker holds, and what the replies to its pushes say of the
// other workers. Pure; not thread-safe.
#ifndef CROSSOVER_PS_PART_VERSIONS_H_
#define CROSSOVER_PS_PART_VERSIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace crossover::ps {

struct VersionCounts {
  int64_t late_pushes = 0;  // of parts, that a server told this worker were late
  // Most updates that others made to a part between the version that a push was computed from
  // and its reply; where nothing holds replies back, the staleness of the push.
  int64_t staleness_max = 0;
  int64_t mixed_version_steps = 0;  // that began with parts of different versions
};

class PartVersions {
 public:
  explicit PartVersions(size_t parts) : versions_(parts) {}

  // The next push of all parts is computed from the present versions.
  void BeginStep();
  // Of the reply to a push that was computed from the present version; Set follows.
  void CountReply(int part, int64_t version, bool late);
  void Set(int part, int64_t version) { versions_[part] = version; }

  int64_t Of(int part) const { return versions_[part]; }
  int64_t oldest() const;  // there is at least one part
  const VersionCounts& counts() const { return counts_; }

 private:
  std::vector<int64_t> versions_;  // by part
  VersionCounts counts_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_PART_VERSIONS_H_
