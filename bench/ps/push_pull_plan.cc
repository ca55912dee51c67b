#include "bench/ps/push_pull_plan.h"

#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/job.h"
#include "core/status.h"

namespace crossover::bench {
namespace {

constexpr int64_t kValueBytes = 4;
constexpr char kPrefix[] = "ps.";

absl::Status Apply(const std::string& setting, proto::Job& job) {
  const size_t equals = setting.find('=');
  if (!absl::StartsWith(setting, kPrefix) || equals == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--set=", setting,
                     ": allowed: a field of the job's ps and its value; example: "
                     "--set=ps.channels=2"));
  }
  const std::string_view text = setting;
  return OverrideField(text.substr(0, equals), text.substr(equals + 1), job);
}

absl::Status SetStrategy(const std::string& name, proto::Job& job) {
  if (name != "ps_sync" && name != "ps_async") {
    return absl::InvalidArgumentError(
        absl::StrCat("--strategy=", name, ": allowed: ps_sync, ps_async"));
  }
  const bool sync = name == "ps_sync";
  job.set_strategy(sync ? proto::Strategy::ps_sync : proto::Strategy::ps_async);
  job.mutable_ps()->set_push_rate(proto::ParameterServer::full);
  return absl::OkStatus();
}

}  // namespace

void AddPushPullFlags(PushPullPlan& plan, FlagSet& flags) {
  flags.Add({"buckets", "into which the model is cut", "1", SetWhole(&plan.buckets, 1, 4096)});
  flags.Add({"warmup", "untimed steps before each size", "2", SetWhole(&plan.warmup, 1, 1000)});
  flags.Add({"iterations", "repetitions of each size; 0: as many as fit into --budget_s", "0",
             SetWhole(&plan.iterations, 0, 1'000'000)});
  flags.Add(
      {"budget_s", "seconds of timing for each size", "0.5", SetReal(&plan.budget_s, 0.001, 3600)});
}

std::vector<std::string> FlagsOf(const PushPullPlan& plan) {
  return {absl::StrCat("--buckets=", plan.buckets), absl::StrCat("--warmup=", plan.warmup),
          absl::StrCat("--iterations=", plan.iterations),
          absl::StrCat("--budget_s=", plan.budget_s)};
}

absl::StatusOr<proto::Job> JobFor(const PushPullPlan& plan) {
  proto::Job job;
  job.set_name("ps_test");
  RETURN_IF_ERROR(SetStrategy(plan.strategy, job));
  job.set_workers(static_cast<int>(plan.workers));
  job.set_servers(static_cast<int>(plan.servers));
  job.set_global_batch(plan.workers);
  job.mutable_ps()->set_part_bytes(plan.part_bytes);
  job.mutable_ps()->set_credits(plan.credits);
  job.mutable_optimizer()->set_name(proto::OptimizerKind::sgd);
  job.mutable_learning_rate()->set_base(1);
  job.mutable_learning_rate()->set_warmup_steps(0);
  job.mutable_learning_rate()->set_decay(proto::LearningRate::constant);
  job.mutable_deadlines()->set_join_s(plan.deadline_s);
  job.mutable_deadlines()->set_step_s(plan.deadline_s);
  for (const std::string& setting : plan.settings) RETURN_IF_ERROR(Apply(setting, job));
  RETURN_IF_ERROR(ValidateJob(job));
  return WithDefaults(job);
}

std::string SettingsText(const PushPullPlan& plan) {
  std::string text;
  for (const std::string& setting : plan.settings) {
    absl::StrAppend(&text, text.empty() ? "" : " ",
                    absl::StripPrefix(setting, absl::string_view(kPrefix)));
  }
  return text;
}

BucketPlan BucketsOf(const PushPullPlan& plan) {
  const int64_t values = plan.bytes / kValueBytes;
  BucketPlan buckets;
  for (int64_t id = 0; id < plan.buckets; ++id) {
    Bucket bucket;
    bucket.id = static_cast<int>(id);
    bucket.offset = values * id / plan.buckets;
    bucket.length = values * (id + 1) / plan.buckets - bucket.offset;
    buckets.buckets.push_back(bucket);
  }
  return buckets;
}

}  // namespace crossover::bench
