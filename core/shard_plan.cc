#include "core/shard_plan.h"

#include <algorithm>

#include "core/check.h"

namespace crossover {

ShardPlan MakeShardPlan(const BucketPlan& buckets, int servers, int64_t part_bytes) {
  constexpr int64_t kValueBytes = sizeof(float);
  CROSSOVER_CHECK(servers > 0, "someone owns the values");
  CROSSOVER_CHECK(part_bytes > 0 && part_bytes % kValueBytes == 0, "a part holds whole values");
  const int64_t part_length_max = part_bytes / kValueBytes;

  ShardPlan plan;
  plan.server_parts.resize(servers);
  plan.bucket_parts.resize(buckets.buckets.size());
  plan.server_length.resize(servers);
  for (const Bucket& bucket : buckets.buckets) {
    int64_t offset = bucket.offset;
    for (int server = 0; server < servers; ++server) {
      // The first servers take the values that an even cut leaves over.
      int64_t left = bucket.length / servers + (server < bucket.length % servers ? 1 : 0);
      while (left > 0) {
        const int64_t length = std::min(left, part_length_max);
        const int id = static_cast<int>(plan.parts.size());
        plan.parts.push_back({.id = id,
                              .server = server,
                              .bucket = bucket.id,
                              .offset = offset,
                              .length = length,
                              .shard_offset = plan.server_length[server]});
        plan.server_parts[server].push_back(id);
        plan.bucket_parts[bucket.id].push_back(id);
        plan.server_length[server] += length;
        offset += length;
        left -= length;
      }
    }
  }
  return plan;
}

double Imbalance(const ShardPlan& plan) {
  int64_t sum = 0;
  int64_t max = 0;
  for (const int64_t length : plan.server_length) {
    sum += length;
    max = std::max(max, length);
  }
  if (sum == 0) return 1;
  return static_cast<double>(max) * static_cast<double>(plan.server_length.size()) /
         static_cast<double>(sum);
}

}  // namespace crossover
