// Which server owns which values. Every bucket is cut evenly over all servers,
// so that each carries the same bytes of every bucket at the same time (large
// tensors are cut; a server's share differs from another's by at most one value
// a bucket). A server's stretch of a bucket travels in parts of a bounded size.
// A pure function, identical in every process.
#ifndef CROSSOVER_CORE_SHARD_PLAN_H_
#define CROSSOVER_CORE_SHARD_PLAN_H_

#include <cstdint>
#include <vector>

#include "core/bucket_plan.h"

namespace crossover {

struct Part {
  int id = 0;      // index in ShardPlan::parts
  int server = 0;  // rank of its owner
  int bucket = 0;
  int64_t offset = 0;        // in the flat buffer, fp32 values
  int64_t length = 0;        // fp32 values, positive
  int64_t shard_offset = 0;  // in its server's own storage, fp32 values
};

struct ShardPlan {
  std::vector<Part> parts;                     // by offset
  std::vector<std::vector<int>> server_parts;  // server -> part ids, by shard_offset
  std::vector<std::vector<int>> bucket_parts;  // bucket -> part ids, by offset
  std::vector<int64_t> server_length;          // server -> fp32 values it owns
};

// servers > 0; part_bytes > 0 and a multiple of 4.
ShardPlan MakeShardPlan(const BucketPlan& buckets, int servers, int64_t part_bytes);

// The largest server's values over the mean; 1 is perfect balance.
double Imbalance(const ShardPlan& plan);

}  // namespace crossover

#endif  // CROSSOVER_CORE_SHARD_PLAN_H_
