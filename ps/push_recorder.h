// When a server received and applied the pushes of a few chosen steps, bucket by bucket, for
// the run's trace. Pushes of all other steps cost one search among those few.
//
// Thread-safe. Memory is bounded by the chosen steps and Timeline::kMaxKeptSpans of all.
#ifndef CROSSOVER_PS_PUSH_RECORDER_H_
#define CROSSOVER_PS_PUSH_RECORDER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/intervals.h"
#include "proto/report.pb.h"

namespace crossover::ps {

class PushRecorder {
 public:
  // `steps` in order.
  explicit PushRecorder(std::vector<int64_t> steps);
  // A part's push came in and was summed; `replied` if it let replies leave.
  void Record(int64_t step, int bucket, Interval interval, bool replied);
  // A part, pushes to which have been recorded, was updated after them: when its norm came.
  void RecordUpdate(int64_t step, int bucket, Interval interval);
  // Of each bucket: "receive" from the first push to the last one's end, "apply" of those that
  // let replies leave, or of the updates after them.
  void AddTo(proto::ServerReport& report) const;

 private:
  struct BucketTimes {
    Interval receive;
    Interval apply;
    bool applied = false;
  };

  const std::vector<int64_t> steps_;
  mutable std::mutex mutex_;
  std::map<std::pair<int64_t, int>, BucketTimes> times_;  // by step and bucket
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_PUSH_RECORDER_H_
