// What a push-pull test measures, the same on all of its processes, and the job that it makes of
// it for the servers. Pure.
#ifndef CROSSOVER_BENCH_PS_PUSH_PULL_PLAN_H_
#define CROSSOVER_BENCH_PS_PUSH_PULL_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/bucket_plan.h"
#include "core/flag_parser.h"
#include "proto/job.pb.h"

namespace crossover::bench {

// One size among so many processes.
struct PushPullPlan {
  std::string strategy = "ps_sync";  // or ps_async: nobody waits for another
  int64_t workers = 1;
  int64_t servers = 1;
  int64_t bytes = 0;  // of the model: fp32 values
  int64_t part_bytes = 65536;
  int64_t credits = 8;
  int64_t buckets = 1;     // into which it is cut, of one length but for a value
  int64_t warmup = 2;      // untimed steps
  int64_t iterations = 0;  // repetitions; 0: as many as fit into budget_s
  double budget_s = 0.5;
  double deadline_s = 60;  // without a sign of a process
  // Further fields of the job's ps: "ps.channels=2".
  std::vector<std::string> settings;
};

// The flags that a worker needs beside the job; `plan` is borrowed and outlives every Parse.
void AddPushPullFlags(PushPullPlan& plan, FlagSet& flags);
std::vector<std::string> FlagsOf(const PushPullPlan& plan);

// The strategy with sgd at rate 1: what bench/ps/values.h expects. Errors: a setting that is no
// field of ps, or what ValidateJob refuses.
absl::StatusOr<proto::Job> JobFor(const PushPullPlan& plan);

// "channels=2 wire=fp16"
std::string SettingsText(const PushPullPlan& plan);

BucketPlan BucketsOf(const PushPullPlan& plan);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PS_PUSH_PULL_PLAN_H_
