// ValidateJob: every rule that a job must keep, in the order of its fields.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/check.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/job_internal.h"
#include "core/status.h"

namespace crossover {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int64_t kMebibyte = 1 << 20;
constexpr int64_t kNameBytesMax = 200;
constexpr int64_t kPathBytesMax = 4096;
constexpr int64_t kBatchMax = 1 << 30;
constexpr int64_t kEmulatedBatchMax = 1 << 22;
constexpr int64_t kWorkersMax = 1024;
constexpr int64_t kSamplesMax = int64_t{1} << 40;
constexpr int64_t kPieceBytesMax = 64 * kMebibyte;
constexpr int64_t kCreditsMax = 1 << 20;
constexpr int64_t kChannelsMax = 64;
constexpr int64_t kApplyThreadsMax = 64;
constexpr int64_t kBucketBytesMax = kMebibyte * kMebibyte;

struct Field {
  const Message* message;
  const FieldDescriptor* field;
};

Field FieldAt(const proto::Job& job, absl::string_view path) {
  const auto fields = FieldPath(*proto::Job::descriptor(), path);
  CROSSOVER_CHECK(!fields.empty(), "rules name fields that exist");
  const Message* message = &job;
  for (size_t i = 0; i + 1 < fields.size(); ++i) {
    message = &message->GetReflection()->GetMessage(*message, fields[i]);
  }
  return {message, fields.back()};
}

// What the field holds, and whether nobody asked for it.
std::string FoundAt(const proto::Job& job, absl::string_view path) {
  const Field at = FieldAt(job, path);
  const bool is_set = at.message->GetReflection()->HasField(*at.message, at.field);
  return absl::StrCat(ValueText(*at.message, *at.field), is_set ? "" : " (the default)");
}

std::string Flag(absl::string_view path, int64_t value) {
  return absl::StrCat("--", path, "=", value);
}

// A whole number from min to max.
absl::Status Whole(const proto::Job& job, absl::string_view path, int64_t min, int64_t max) {
  const Field at = FieldAt(job, path);
  const auto& reflection = *at.message->GetReflection();
  const int64_t value = at.field->cpp_type() == FieldDescriptor::CPPTYPE_INT32
                            ? reflection.GetInt32(*at.message, at.field)
                            : reflection.GetInt64(*at.message, at.field);
  if (value >= min && value <= max) return absl::OkStatus();
  return Refusal(path, FoundAt(job, path), absl::StrCat(min, " to ", max),
                 Flag(path, std::clamp(value, min, max)));
}

// A range of real numbers; `text` is how a user reads it.
struct Range {
  double min;
  double max;
  bool with_min;
  bool with_max;
  absl::string_view text;
};

constexpr double kRealMax = 1e6;
constexpr Range kMomentum = {0, 1, true, false, "from 0 to below 1"};
constexpr Range kFraction = {0, 1, true, true, "0 to 1"};
constexpr Range kRate = {0, kRealMax, false, true, "above 0, at most 1e6"};
constexpr Range kPenalty = {0, kRealMax, true, true, "0 to 1e6"};
// It is added to fp32 values: below this it would vanish.
constexpr Range kEpsilon = {1e-30, 1, true, true, "1e-30 to 1"};

absl::Status Real(const proto::Job& job, absl::string_view path, const Range& range) {
  const Field at = FieldAt(job, path);
  const double value = at.message->GetReflection()->GetDouble(*at.message, at.field);
  const bool above_min = range.with_min ? value >= range.min : value > range.min;
  const bool below_max = range.with_max ? value <= range.max : value < range.max;
  if (above_min && below_max) return absl::OkStatus();  // not a NaN either
  return Refusal(path, FoundAt(job, path), range.text,
                 absl::StrCat("--", path, "=", at.field->default_value_double()));
}

// Sizes of pieces of fp32 values.
absl::Status PieceBytes(const proto::Job& job, absl::string_view path, int64_t value) {
  if (value >= 4 && value <= kPieceBytesMax && value % 4 == 0) return absl::OkStatus();
  const int64_t nearest = std::clamp<int64_t>(value / 4 * 4, 4, kPieceBytesMax);
  return Refusal(path, FoundAt(job, path),
                 absl::StrCat("a multiple of 4 (the bytes of a value) from 4 to ", kPieceBytesMax),
                 Flag(path, nearest));
}

// Whether bytes are UTF-8 (shortest forms only, no surrogates) without control characters.
bool IsPlainText(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x20 || lead == 0x7f) return false;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return false;
    const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (i + length > text.size()) return false;
    for (size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(text[i + j]) & 0xc0) != 0x80) return false;
    }
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    const bool surrogate = lead == 0xed && second >= 0xa0;
    const bool beyond = lead == 0xf4 && second >= 0x90;
    if (overlong || surrogate || beyond) return false;
    i += length;
  }
  return true;
}

absl::Status Text(const proto::Job& job, absl::string_view path, absl::string_view value,
                  int64_t bytes_max) {
  const bool fits = !value.empty() && static_cast<int64_t>(value.size()) <= bytes_max;
  if (fits && IsPlainText(value)) return absl::OkStatus();
  const std::string& standard = FieldAt(job, path).field->default_value_string();
  return Refusal(path, FoundAt(job, path),
                 absl::StrCat("1 to ", bytes_max, " bytes of UTF-8 without control characters"),
                 standard.empty() ? absl::StrCat("leave ", path, " out")
                                  : absl::StrCat("--", path, "=", standard));
}

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

absl::Status CheckStrategy(const proto::Job& job) {
  RETURN_IF_ERROR(CheckPolicy(job));
  RETURN_IF_ERROR(PieceBytes(job, "ps.part_bytes", job.ps().part_bytes()));
  RETURN_IF_ERROR(Whole(job, "ps.credits", 1, kCreditsMax));
  RETURN_IF_ERROR(Whole(job, "ps.channels", 1, kChannelsMax));
  RETURN_IF_ERROR(Whole(job, "ps.apply_threads", -1, kApplyThreadsMax));
  RETURN_IF_ERROR(CheckWire(job));
  if (job.deterministic() && job.allreduce().has_algorithm() &&
      job.allreduce().algorithm() != proto::AllReduce::direct) {
    return Refusal("allreduce.algorithm", FoundAt(job, "allreduce.algorithm"),
                   "direct where deterministic is true (a ring sums each segment in another order)",
                   "--allreduce.algorithm=direct, or --deterministic=false");
  }
  RETURN_IF_ERROR(PieceBytes(job, "allreduce.chunk_bytes", job.allreduce().chunk_bytes()));
  if (!job.allreduce().fit().empty()) {
    RETURN_IF_ERROR(Text(job, "allreduce.fit", job.allreduce().fit(), kPathBytesMax));
  }
  RETURN_IF_ERROR(CheckFit(job.allreduce()));
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
  RETURN_IF_ERROR(Text(job, "emulated.profile", job.emulated().profile(), kPathBytesMax));
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

// TCP between workers has no TLS.
absl::Status CheckTls(const proto::Job& job) {
  const proto::Transport::Name transport = job.allreduce().transport();
  const bool open = transport == proto::Transport::tcp || transport == proto::Transport::automatic;
  if (!job.tls() || !UsesCollectives(job) || !open) return absl::OkStatus();
  return Refusal("allreduce.transport", FoundAt(job, "allreduce.transport"),
                 "grpc or shared_memory, where tls is true", "--allreduce.transport=grpc");
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
