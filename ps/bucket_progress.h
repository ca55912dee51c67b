// How far each bucket of a step is on its way to the servers and back, and its spans for the
// timeline: kPush from Push until the last part has been written, kPull from there to the last
// reply. A bucket is finished, and its source free, after both, in whichever order they come.
#ifndef CROSSOVER_PS_BUCKET_PROGRESS_H_
#define CROSSOVER_PS_BUCKET_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/timeline.h"

namespace crossover::ps {

// Not thread-safe.
class BucketProgress {
 public:
  // `timeline` must outlive this.
  BucketProgress(size_t buckets, Timeline& timeline) : timeline_(timeline), buckets_(buckets) {}

  void BeginStep();
  // Of so many parts, maybe none. Once a step for each bucket (CHECK).
  void Push(int bucket, int parts);
  bool pushed(int bucket) const { return buckets_[bucket].pushed; }
  // One of its parts.
  void Written(int bucket);
  void Answered(int bucket);
  int unpushed() const { return unpushed_; }
  int unfinished() const { return unfinished_; }

 private:
  struct Bucket {
    bool pushed = false;
    int unwritten_parts = 0;
    int unanswered_parts = 0;
    int64_t start_ns = 0;
    int64_t written_ns = 0;
    int64_t answered_ns = 0;
  };
  void FinishIfDone(int bucket);

  Timeline& timeline_;
  std::vector<Bucket> buckets_;
  int unpushed_ = 0;
  int unfinished_ = 0;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_BUCKET_PROGRESS_H_
