// ValidateJob: every rule that a job must keep, in the order of its fields.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/job_field_checks.h"
#include "core/job_internal.h"
#include "core/status.h"

namespace crossover {
namespace {

constexpr int64_t kMebibyte = 1 << 20;
constexpr int64_t kNameBytesMax = 200;
constexpr int64_t kPathBytesMax = 4096;
constexpr int64_t kBatchMax = 1 << 30;
constexpr int64_t kEmulatedBatchMax = 1 << 22;
constexpr int64_t kWorkersMax = 1024;
constexpr int64_t kSamplesMax = int64_t{1} << 40;
constexpr int64_t kCreditsMax = 1 << 20;
constexpr int64_t kChannelsMax = 64;
constexpr int64_t kApplyThreadsMax = 64;
constexpr int64_t kBucketBytesMax = kMebibyte * kMebibyte;

absl::Status CheckData(const proto::Job& job) {
  RETURN_IF_ERROR(Text(job, "data.path", job.data().path(), kPathBytesMax));
  const std::string& default_path = proto::Data::default_instance().path();
  if (job.data().format() == proto::Data::cifar10 && job.data().path() == default_path) {
    return Refusal("data.path", FoundAt(job, "data.path"),
                   "with data.format cifar10, the directory of CIFAR-10's binary files",
                   "--data.path=DIRECTORY");
  }
  RETURN_IF_ERROR(Whole(job, "data.train_limit", 0, kSamplesMax));
  RETURN_IF_ERROR(Whole(job, "data.test_limit", 0, kSamplesMax));
  return Real(job, "data.validation_part", {0, 0.5, true, true, "0 to 0.5"});
}

absl::Status CheckBatch(const proto::Job& job) {
  RETURN_IF_ERROR(Whole(job, "global_batch", 1, kBatchMax));
  RETURN_IF_ERROR(Whole(job, "accumulation", 1, 65536));
  RETURN_IF_ERROR(Whole(job, "workers", 1, kWorkersMax));
  const int64_t unit = int64_t{job.workers()} * job.accumulation();
  const int64_t below = job.global_batch() / unit * unit;
  if (below == job.global_batch()) return absl::OkStatus();
  std::vector<std::string> nearest;
  for (int64_t batch : {below, below + unit}) {
    if (batch > 0 && batch <= kBatchMax) nearest.push_back(Flag("global_batch", batch));
  }
  return Refusal("global_batch", FoundAt(job, "global_batch"),
                 absl::StrCat("a multiple of workers x accumulation, ", job.workers(), " x ",
                              job.accumulation(), " = ", unit),
                 absl::StrJoin(nearest, " or "));
}

absl::Status CheckLength(const proto::Job& job) {
  RETURN_IF_ERROR(Whole(job, "steps", 0, kStepsMax));
  RETURN_IF_ERROR(Whole(job, "epochs", 0, 1'000'000));
  if (job.steps() > 0 && job.epochs() > 0) {
    return Refusal("steps",
                   absl::StrCat(FoundAt(job, "steps"), " while epochs is ", FoundAt(job, "epochs")),
                   "exactly one of the two above 0",
                   absl::StrCat("--epochs=0 to train ", job.steps(), " steps, or --steps=0"));
  }
  if (job.steps() == 0 && job.epochs() == 0) {
    return Refusal("steps", absl::StrCat(FoundAt(job, "steps"), " and epochs is 0"),
                   "exactly one of the two above 0", "--epochs=6, or --steps=1000");
  }
  return absl::OkStatus();
}

absl::Status CheckOptimizer(const proto::Job& job) {
  RETURN_IF_ERROR(Real(job, "optimizer.momentum", kMomentum));
  if (job.optimizer().name() == proto::OptimizerKind::nesterov && job.optimizer().momentum() == 0) {
    return Refusal("optimizer.momentum", "0",
                   "above 0 and below 1 where optimizer.name is nesterov",
                   "--optimizer.name=sgd, or --optimizer.momentum=0.9");
  }
  RETURN_IF_ERROR(Real(job, "optimizer.weight_decay", kPenalty));
  RETURN_IF_ERROR(Real(job, "optimizer.clip_norm", kPenalty));
  if (job.optimizer().clip_norm() > 0 && job.strategy() == proto::Strategy::ps_backup) {
    return Refusal("optimizer.clip_norm",
                   absl::StrCat(FoundAt(job, "optimizer.clip_norm"),
                                " while with strategy ps_backup each part averages other workers' "
                                "gradients, so that no gradient is there to have a norm"),
                   "0 with ps_backup", "--optimizer.clip_norm=0, or --strategy=ps_sync");
  }
  RETURN_IF_ERROR(Real(job, "optimizer.beta1", kMomentum));
  RETURN_IF_ERROR(Real(job, "optimizer.beta2", kMomentum));
  return Real(job, "optimizer.epsilon", kEpsilon);
}

absl::Status CheckLearningRate(const proto::Job& job) {
  RETURN_IF_ERROR(Real(job, "learning_rate.base", kRate));
  RETURN_IF_ERROR(Whole(job, "learning_rate.reference_batch", 1, kBatchMax));
  RETURN_IF_ERROR(Whole(job, "learning_rate.warmup_steps", 0, kStepsMax));
  return Real(job, "learning_rate.warmup_fraction", kFraction);
}

// Why the strategy has no fixed order of sums, or "".
absl::string_view WhyNotDeterministic(proto::Strategy::Name strategy) {
  switch (strategy) {
    case proto::Strategy::ps_ssp:
    case proto::Strategy::ps_async:
    case proto::Strategy::ps_async_dc:
    case proto::Strategy::ps_async_scaled:
    case proto::Strategy::ps_backup:
    case proto::Strategy::ps_elastic:
    case proto::Strategy::ps_groups:
      return "applies gradients in the order of their arrival, which no two runs share";
    case proto::Strategy::single:
    case proto::Strategy::ps_sync:
    case proto::Strategy::allreduce_ring:
    case proto::Strategy::local_sgd:
      return "";
  }
  return "";
}

// What travels as halves is rounded on its way: no harm to a gradient, which is summed in fp32.
absl::Status CheckWire(const proto::Job& job) {
  if (job.ps().wire() == proto::ParameterServer::fp32) return absl::OkStatus();
  const bool pushes_parameters =
      job.strategy() == proto::Strategy::local_sgd || job.strategy() == proto::Strategy::ps_elastic;
  if (!job.deterministic() && !pushes_parameters) return absl::OkStatus();
  return Refusal("ps.wire", FoundAt(job, "ps.wire"),
                 job.deterministic()
                     ? "fp32 where deterministic is true (halves would give other bits)"
                     : "fp32 where workers push parameters, which halves would round each time",
                 "--ps.wire=fp32");
}

absl::Status CheckGroups(const proto::Job& job) {
  RETURN_IF_ERROR(Whole(job, "ps.groups", 1, kWorkersMax));
  const int groups = job.ps().groups();
  if (job.strategy() != proto::Strategy::ps_groups || job.workers() % groups == 0) {
    return absl::OkStatus();
  }
  int nearest = std::min(groups, job.workers());
  while (job.workers() % nearest != 0) --nearest;
  return Refusal(
      "ps.groups", FoundAt(job, "ps.groups"),
      absl::StrCat("what divides the ", job.workers(), " workers, so that groups weigh the same"),
      Flag("ps.groups", nearest));
}

// Each part answers by itself, so its parameters are of one version with the others' only where an
// answer waits until all pushes of a step, and none of the next, have been applied to the part.
absl::Status CheckOneVersion(const proto::Job& job) {
  const bool in_step =
      job.strategy() == proto::Strategy::ps_sync || job.strategy() == proto::Strategy::local_sgd ||
      (job.strategy() == proto::Strategy::ps_ssp && job.ps().staleness_bound() == 0);
  if (!job.ps().one_version() || !UsesServers(job) || in_step) return absl::OkStatus();
  return Refusal("ps.one_version",
                 absl::StrCat("true while strategy ", StrategyName(job.strategy()),
                              " answers each part's pushes as they come to it, in different "
                              "orders on different parts"),
                 "with ps_sync, local_sgd, ps_ssp of ps.staleness_bound 0, and without servers",
                 "--ps.one_version=false, or --strategy=ps_sync");
}

// What servers do with pushes.
absl::Status CheckPolicy(const proto::Job& job) {
  RETURN_IF_ERROR(Whole(job, "ps.staleness_bound", 0, kStepsMax));
  RETURN_IF_ERROR(Whole(job, "ps.backup_workers", 0, kWorkersMax - 1));
  if (job.strategy() == proto::Strategy::ps_backup && job.ps().backup_workers() >= job.workers()) {
    return Refusal(
        "ps.backup_workers", FoundAt(job, "ps.backup_workers"),
        absl::StrCat("0 to ", job.workers() - 1, ", fewer than the ", job.workers(), " workers"),
        Flag("ps.backup_workers", job.workers() - 1));
  }
  RETURN_IF_ERROR(Real(job, "ps.delay_compensation", kPenalty));
  RETURN_IF_ERROR(Real(job, "ps.elastic_rate", {0, 1, true, false, "from 0 to below 1"}));
  if (job.ps().elastic_rate() * job.workers() > 1) {
    return Refusal("ps.elastic_rate", FoundAt(job, "ps.elastic_rate"),
                   absl::StrCat("at most 1 / workers, ", 1.0 / job.workers(),
                                ", or the centre would move past its workers"),
                   "--ps.elastic_rate=0, which means 0.9 / workers");
  }
  RETURN_IF_ERROR(CheckGroups(job));
  return CheckOneVersion(job);
}

// Refuses an algorithm, and constants to choose one by, where it would run another.
absl::Status CheckAllReduce(const proto::Job& job) {
  const proto::AllReduce& allreduce = job.allreduce();
  const auto refuse_algorithm = [&job](const char* allowed, const char* fix) {
    return Refusal("allreduce.algorithm", FoundAt(job, "allreduce.algorithm"), allowed, fix);
  };
  if (job.deterministic() && allreduce.has_algorithm() &&
      allreduce.algorithm() != proto::AllReduce::direct) {
    return refuse_algorithm(
        "direct where deterministic is true (a ring sums each segment in another order)",
        "--allreduce.algorithm=direct, or --deterministic=false");
  }
  // The default passes: a job written out has it whatever its transport.
  const bool chosen = allreduce.algorithm() != proto::AllReduce::ring &&
                      allreduce.algorithm() != proto::AllReduce::automatic;
  if (allreduce.transport() == proto::Transport::shared_memory && chosen && !job.deterministic()) {
    return refuse_algorithm(
        "automatic where allreduce.transport is shared_memory, which has ways of its own",
        "--allreduce.algorithm=automatic, or --allreduce.transport=tcp");
  }
  RETURN_IF_ERROR(PieceBytes(job, "allreduce.chunk_bytes", allreduce.chunk_bytes()));
  if (!allreduce.fit().empty()) {
    RETURN_IF_ERROR(Text(job, "allreduce.fit", allreduce.fit(), kPathBytesMax));
    if (allreduce.algorithm() != proto::AllReduce::automatic) {
      return refuse_algorithm("automatic where allreduce.fit is given, which it chooses by",
                              "--allreduce.algorithm=automatic, or leave out allreduce.fit");
    }
  }
  return CheckFit(allreduce);
}

absl::Status CheckStrategy(const proto::Job& job) {
  RETURN_IF_ERROR(CheckPolicy(job));
  RETURN_IF_ERROR(PieceBytes(job, "ps.part_bytes", job.ps().part_bytes()));
  RETURN_IF_ERROR(Whole(job, "ps.credits", 1, kCreditsMax));
  RETURN_IF_ERROR(Whole(job, "ps.channels", 1, kChannelsMax));
  RETURN_IF_ERROR(Whole(job, "ps.apply_threads", -1, kApplyThreadsMax));
  RETURN_IF_ERROR(CheckWire(job));
  RETURN_IF_ERROR(CheckAllReduce(job));
  RETURN_IF_ERROR(Whole(job, "local_sgd.local_steps", 1, kStepsMax));
  RETURN_IF_ERROR(Whole(job, "local_sgd.first_phase_steps", 0, kStepsMax));
  RETURN_IF_ERROR(Real(job, "local_sgd.first_phase_fraction", kFraction));
  RETURN_IF_ERROR(Real(job, "local_sgd.outer_learning_rate", kRate));
  RETURN_IF_ERROR(Real(job, "local_sgd.outer_momentum", kMomentum));
  RETURN_IF_ERROR(Whole(job, "buckets.first_bytes", 1, kBucketBytesMax));
  RETURN_IF_ERROR(Whole(job, "buckets.bytes", 1, kBucketBytesMax));
  const absl::string_view why = WhyNotDeterministic(job.strategy());
  if (job.deterministic() && !why.empty()) {
    return Refusal("deterministic",
                   absl::StrCat("true while strategy ", StrategyName(job.strategy()), " ", why),
                   "with single, ps_sync, allreduce_ring, local_sgd",
                   "--deterministic=false, or --strategy=ps_sync");
  }
  return absl::OkStatus();
}

absl::Status CheckProcesses(const proto::Job& job) {
  RETURN_IF_ERROR(Whole(job, "servers", 0, 1024));
  if (UsesServers(job) && job.servers() == 0) {
    const bool local = job.strategy() == proto::Strategy::local_sgd;
    return Refusal("servers", "0",
                   absl::StrCat("1 to 1024, since strategy ", StrategyName(job.strategy()),
                                local ? " through servers" : "", " needs them"),
                   local ? "--servers=1, or --local_sgd.through=allreduce"
                         : "--servers=1, or --strategy=allreduce_ring");
  }
  return absl::OkStatus();
}

absl::Status CheckDivergence(const proto::Job& job) {
  const double multiple = job.divergence().loss_multiple();
  if (multiple != 0 && !(multiple > 1 && multiple <= kRealMax)) {
    return Refusal("divergence.loss_multiple", FoundAt(job, "divergence.loss_multiple"),
                   "above 1, at most 1e6; or 0: only a loss that is not finite",
                   "--divergence.loss_multiple=10");
  }
  return Whole(job, "divergence.window_steps", 1, kStepsMax);
}

absl::Status CheckStraggler(const proto::Job& job) {
  const int32_t rank = job.straggler().rank();
  RETURN_IF_ERROR(Whole(job, "straggler.rank", -1, job.workers() - 1));
  if (rank >= 0 && job.strategy() == proto::Strategy::single) {
    return Refusal("straggler.rank", FoundAt(job, "straggler.rank"),
                   "-1 (none) where strategy is single, which has no other worker to wait for",
                   "--straggler.rank=-1");
  }
  RETURN_IF_ERROR(Real(job, "straggler.factor", {1, 1000, true, true, "1 to 1000"}));
  if (rank < 0 && job.straggler().factor() > 1) {
    return Refusal("straggler.factor", FoundAt(job, "straggler.factor"),
                   "1 where straggler.rank is -1 (none)",
                   "--straggler.rank=0 to slow that worker, or --straggler.factor=1");
  }
  RETURN_IF_ERROR(Whole(job, "straggler.burst_steps", 0, kStepsMax));
  RETURN_IF_ERROR(Real(job, "straggler.burst_share", {0, 1, false, false, "above 0, below 1"}));
  if (job.straggler().wanders() && job.straggler().burst_steps() == 0) {
    return Refusal("straggler.wanders", "true", "false where straggler.burst_steps is 0",
                   "--straggler.burst_steps=20, or --straggler.wanders=false");
  }
  return absl::OkStatus();
}

absl::Status CheckEmulated(const proto::Job& job) {
  const Range scale = {1, 1000, true, true, "1 to 1000"};
  const proto::Emulated& emulated = job.emulated();
  if (!emulated.profile().empty() || emulated.layers().empty()) {  // "": the layers are the job's
    RETURN_IF_ERROR(Text(job, "emulated.profile", emulated.profile(), kPathBytesMax));
  }
  RETURN_IF_ERROR(Real(job, "emulated.time_scale", scale));
  RETURN_IF_ERROR(Real(job, "emulated.bytes_scale", scale));
  RETURN_IF_ERROR(Real(job, "emulated.compute_speed", {0.001, 1000, true, true, "0.001 to 1000"}));
  RETURN_IF_ERROR(CheckLayers(job.emulated().layers(), "emulated.layers"));
  RETURN_IF_ERROR(Whole(job, "emulated.batch", 0, kBatchMax));
  const bool scaled = job.emulated().time_scale() != 1 || job.emulated().bytes_scale() != 1;
  if (scaled && !IsEmulated(job)) {
    return Refusal("emulated.time_scale",
                   absl::StrCat("or bytes_scale is not 1 while model is ",
                                proto::Model::Name_Name(job.model())),
                   "1, unless model is emulated: real compute cannot be scaled",
                   "--model=emulated, or leave the scales out");
  }
  if (!IsEmulated(job)) return absl::OkStatus();
  if (job.epochs() > 0) {
    return Refusal("epochs", FoundAt(job, "epochs"),
                   "0 where model is emulated: it has no data set to go through",
                   "--steps=100 --epochs=0");
  }
  // Its samples are counted, and so held, though they are blank.
  return Whole(job, "global_batch", 1, kEmulatedBatchMax);
}

absl::Status CheckTune(const proto::Job& job) {
  const proto::TuneLearningRate& lr = job.comparison().tune().lr();
  RETURN_IF_ERROR(Whole(job, "comparison.tune.lr.trials", 0, 100));
  RETURN_IF_ERROR(Real(job, "comparison.tune.lr.low", kRate));
  RETURN_IF_ERROR(Real(job, "comparison.tune.lr.high", kRate));
  RETURN_IF_ERROR(
      Real(job, "comparison.tune.lr.length", {0, 1, false, true, "above 0, at most 1"}));
  if (lr.trials() == 1 || (lr.trials() > 1 && lr.low() >= lr.high())) {
    return Refusal("comparison.tune.lr.trials",
                   absl::StrCat(lr.trials(), " with rates from ", lr.low(), " to ", lr.high()),
                   "0, or at least 2 trials with low below high", "--comparison.tune.lr.trials=5");
  }
  if (lr.trials() > 0 && job.model() == proto::Model::emulated) {
    return Refusal("comparison.tune.lr.trials", absl::StrCat(lr.trials()),
                   "0 where model is emulated: it learns nothing", "--comparison.tune.lr.trials=0");
  }
  return absl::OkStatus();
}

absl::Status CheckComparison(const proto::Job& job) {
  std::vector<int> seen;
  for (int strategy : job.comparison().strategies()) {
    if (std::find(seen.begin(), seen.end(), strategy) != seen.end()) {
      const std::string name = StrategyName(static_cast<proto::Strategy::Name>(strategy));
      return Refusal("comparison.strategies", absl::StrCat("a list with ", name, " twice"),
                     "each strategy once", absl::StrCat("leave out one ", name));
    }
    seen.push_back(strategy);
  }
  RETURN_IF_ERROR(Whole(job, "comparison.repetitions", 1, 1000));
  RETURN_IF_ERROR(Text(job, "comparison.congestion_control", job.comparison().congestion_control(),
                       kNameBytesMax));
  if (job.comparison().has_network()) {
    RETURN_IF_ERROR(Text(job, "comparison.network", job.comparison().network(), kNameBytesMax));
  }
  return CheckTune(job);
}

// TCP between workers, over which those with shared memory meet too, has no TLS.
absl::Status CheckTls(const proto::Job& job) {
  const bool encrypted = job.allreduce().transport() == proto::Transport::grpc;
  if (!job.tls() || !UsesCollectives(job) || encrypted) return absl::OkStatus();
  return Refusal("allreduce.transport", FoundAt(job, "allreduce.transport"),
                 "grpc, where tls is true", "--allreduce.transport=grpc");
}

}  // namespace

absl::Status Refusal(absl::string_view field, absl::string_view found, absl::string_view allowed,
                     absl::string_view fix) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", found, "; allowed: ", allowed, "; fix: ", fix));
}

absl::Status CheckStepCounts(const proto::Job& job, int64_t total_steps) {
  if (job.learning_rate().warmup_steps() > total_steps) {
    return Refusal("learning_rate.warmup_steps", FoundAt(job, "learning_rate.warmup_steps"),
                   absl::StrCat("0 to the training's ", total_steps, " steps"),
                   Flag("learning_rate.warmup_steps", total_steps / 10));
  }
  if (job.measure().warmup_steps() >= total_steps) {
    return Refusal("measure.warmup_steps", FoundAt(job, "measure.warmup_steps"),
                   absl::StrCat("0 to ", total_steps - 1, ", so that some of the training's ",
                                total_steps, " steps are measured"),
                   Flag("measure.warmup_steps", total_steps / 10));
  }
  return absl::OkStatus();
}

absl::Status ValidateJob(const proto::Job& job) {
  RETURN_IF_ERROR(Text(job, "name", job.name(), kNameBytesMax));
  RETURN_IF_ERROR(CheckData(job));
  RETURN_IF_ERROR(CheckBatch(job));
  RETURN_IF_ERROR(CheckLength(job));
  RETURN_IF_ERROR(CheckOptimizer(job));
  RETURN_IF_ERROR(CheckLearningRate(job));
  RETURN_IF_ERROR(CheckStrategy(job));
  RETURN_IF_ERROR(CheckTls(job));
  RETURN_IF_ERROR(CheckProcesses(job));
  RETURN_IF_ERROR(Real(job, "deadlines.join_s", {1, 86400, true, true, "1 to 86400"}));
  RETURN_IF_ERROR(Real(job, "deadlines.loss_s", {0.5, 3600, true, true, "0.5 to 3600"}));
  RETURN_IF_ERROR(Real(job, "deadlines.step_s", {1, 86400, true, true, "1 to 86400"}));
  RETURN_IF_ERROR(CheckDivergence(job));
  RETURN_IF_ERROR(Whole(job, "measure.warmup_steps", 0, kStepsMax));
  RETURN_IF_ERROR(Real(job, "measure.target_accuracy", kFraction));
  RETURN_IF_ERROR(Whole(job, "measure.evaluate_every_steps", 0, kStepsMax));
  if (job.steps() > 0) RETURN_IF_ERROR(CheckStepCounts(job, job.steps()));
  RETURN_IF_ERROR(CheckStraggler(job));
  RETURN_IF_ERROR(CheckEmulated(job));
  return CheckComparison(job);
}

}  // namespace crossover
