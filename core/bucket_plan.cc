#include "core/bucket_plan.h"

#include "core/check.h"

namespace crossover {

BucketPlan MakeBucketPlan(const FlatLayout& layout, int64_t first_bytes, int64_t bytes) {
  CROSSOVER_CHECK(first_bytes > 0 && bytes > 0, "bucket sizes are positive");
  BucketPlan plan;
  plan.parameter_bucket.reserve(layout.parameters.size());
  bool open = false;
  for (int i = 0; i < static_cast<int>(layout.parameters.size()); ++i) {
    const ParameterInfo& parameter = layout.parameters[i];
    const bool nothing_follows = parameter.offset == layout.length;
    if (!open && !(nothing_follows && !plan.buckets.empty())) {
      plan.buckets.push_back({.id = static_cast<int>(plan.buckets.size()),
                              .offset = parameter.offset,
                              .length = 0,
                              .first_parameter = i,
                              .parameter_count = 0});
    }
    Bucket& bucket = plan.buckets.back();
    bucket.length += parameter.length;
    ++bucket.parameter_count;
    plan.parameter_bucket.push_back(bucket.id);
    const int64_t size_bytes = bucket.id == 0 ? first_bytes : bytes;
    open = bucket.length * static_cast<int64_t>(sizeof(float)) < size_bytes;
  }
  return plan;
}

BucketTracker::BucketTracker(const BucketPlan& plan) : plan_(plan) { Reset(); }

void BucketTracker::Reset() {
  missing_.clear();
  for (const Bucket& bucket : plan_.buckets) missing_.push_back(bucket.parameter_count);
  seen_.assign(plan_.parameter_bucket.size(), false);
}

int BucketTracker::ParameterReady(int parameter) {
  CROSSOVER_CHECK(0 <= parameter && parameter < static_cast<int>(seen_.size()),
                  "the parameter is one of the plan's");
  CROSSOVER_CHECK(!seen_[parameter], "a gradient becomes final once a step");
  seen_[parameter] = true;
  const int bucket = plan_.parameter_bucket[parameter];
  return --missing_[bucket] == 0 ? bucket : -1;
}

std::vector<int> BucketTracker::CompleteRest() {
  std::vector<int> completed;
  for (const Bucket& bucket : plan_.buckets) {
    if (missing_[bucket.id] > 0) completed.push_back(bucket.id);
    missing_[bucket.id] = 0;
  }
  seen_.assign(seen_.size(), true);
  return completed;
}

}  // namespace crossover
