#include "bench/ps/push_pull_record.h"

#include "absl/strings/str_cat.h"
#include "experiments/results/json_archive.h"

namespace crossover::bench {

template <typename Archive>
void Fields(Archive& archive, PushPullRecord& record) {
  archive("op", record.op);
  archive("strategy", record.strategy);
  archive("network", record.network);
  archive("placement", record.placement);
  archive("workers_per_node", record.workers_per_node);
  archive("workers", record.workers);
  archive("servers", record.servers);
  archive("bytes", record.bytes);
  archive("buckets", record.buckets);
  archive("part_bytes", record.part_bytes);
  archive("credits", record.credits);
  archive("settings", record.settings);
  archive("round", record.round);
  archive("time_us", record.time_us);
  archive("time_us_min", record.time_us_min);
  archive("time_us_max", record.time_us_max);
  archive("push_us", record.push_us);
  archive("algbw_GBps", record.algbw_GBps);
  archive("link_GBps", record.link_GBps);
  archive("bound_us", record.bound_us);
  archive("server_cpu_s_per_GB", record.server_cpu_s_per_GB);
  archive("worker_cpu_s_per_GB", record.worker_cpu_s_per_GB);
  archive("server_peak_MB", record.server_peak_MB);
  archive("fairness", record.fairness);
  archive("steps", record.steps);
  archive("wrong", record.wrong);
  archive("worker_time_us", record.worker_time_us);
}

std::string WritePushPull(const PushPullRecord& record) { return experiments::WriteJson(record); }

absl::StatusOr<PushPullRecord> ReadPushPull(std::string_view line) {
  PushPullRecord record;
  const std::string error = experiments::ReadJson(line, record);
  if (error.empty()) return record;
  return absl::InvalidArgumentError(absl::StrCat("not a line of ps_test: ", error));
}

double FairnessIndex(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 0;
}

}  // namespace crossover::bench
