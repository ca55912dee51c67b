#include "bench/comm/test_plan.h"

#include <algorithm>
#include <limits>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/shared/sizes.h"
#include "core/fnv1a.h"
#include "core/status.h"

namespace crossover::bench {
namespace {

using allreduce::Kind;

constexpr double kLossSMax = 10;

constexpr Kind kOps[] = {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather, Kind::kBroadcast,
                         Kind::kBarrier};
constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16,
                               DataType::kFloat64, DataType::kInt32,   DataType::kInt64};
constexpr ReduceOp kReduces[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin,
                                 ReduceOp::kMax};
constexpr Transport kTransports[] = {Transport::kAuto, Transport::kTcp, Transport::kSharedMemory,
                                     Transport::kGrpc, Transport::kInproc};

absl::Status NotAllowed(absl::string_view flag, const std::string& value,
                        const std::vector<std::string>& allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", value, ": not known; allowed: ", absl::StrJoin(allowed, ", ")));
}

// The one of `values` that `word_of` calls `word`.
template <typename T, typename WordOf>
absl::StatusOr<T> Choose(absl::string_view flag, const std::string& word, std::span<const T> values,
                         WordOf word_of) {
  std::vector<std::string> allowed;
  for (const T value : values) {
    if (word == word_of(value)) return value;
    allowed.push_back(word_of(value));
  }
  return NotAllowed(flag, word, allowed);
}

template <typename T, typename WordOf>
std::optional<T> Named(std::string_view word, std::span<const T> values, WordOf word_of) {
  for (const T value : values) {
    if (word == word_of(value)) return value;
  }
  return std::nullopt;
}

absl::Status ReadAlgorithm(const std::string& word, TestPlan& plan) {
  if (word == "auto") return absl::OkStatus();
  const std::vector<allreduce::Algorithm> known = allreduce::AlgorithmsOf(plan.op);
  const auto word_of = [](allreduce::Algorithm algorithm) { return allreduce::NameOf(algorithm); };
  const absl::StatusOr<allreduce::Algorithm> found =
      Choose("algorithm", word, std::span<const allreduce::Algorithm>(known), word_of);
  if (!found.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(found.status().message(), ", auto (of --op=", WordFor(plan.op), ")"));
  }
  if (plan.transport == Transport::kSharedMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("--algorithm=", word,
                     ": shared memory has ways of its own; fix: --algorithm=auto, or "
                     "--transport=tcp"));
  }
  plan.algorithm = *found;
  return absl::OkStatus();
}

// "ALPHA,MESSAGE,BETA,GAMMA".
absl::Status ReadCosts(const std::string& text, TestPlan& plan) {
  if (text.empty()) return absl::OkStatus();
  const std::vector<std::string> words = absl::StrSplit(text, ',');
  std::vector<double> values;
  for (const std::string& word : words) {
    double value = 0;
    if (absl::SimpleAtod(word, &value) && value >= 0 && value <= 1e9) values.push_back(value);
  }
  if (values.size() != 4 || words.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--costs=", text, ": allowed: four numbers from 0 to 1e9, alpha and message in us, beta ",
        "and gamma in us a byte; fix: --use_fit=FILE with a file of --fit"));
  }
  plan.costs = {.alpha_us = values[0],
                .message_us = values[1],
                .beta_us_per_byte = values[2],
                .gamma_us_per_byte = values[3]};
  return absl::OkStatus();
}

absl::Status ReadPlaces(const PlanFlags& values, TestPlan& plan) {
  if (values.in_place != "both" && values.in_place != "in" && values.in_place != "out") {
    return NotAllowed("in_place", values.in_place, {"both", "in", "out"});
  }
  plan.in_place = values.in_place != "out";
  plan.out_of_place = values.in_place != "in";
  if (values.buffers != "private" && values.buffers != "shared") {
    return NotAllowed("buffers", values.buffers, {"private", "shared"});
  }
  plan.shared_buffers = values.buffers == "shared";
  const bool apart =
      plan.transport != Transport::kAuto && plan.transport != Transport::kSharedMemory;
  if (plan.shared_buffers && apart) {
    return absl::InvalidArgumentError(absl::StrCat("--buffers=shared: over ",
                                                   NameOf(plan.transport),
                                                   " nobody reads another's memory; fix: "
                                                   "--buffers=private"));
  }
  return absl::OkStatus();
}

// Refuses what the operation would ignore.
absl::Status CheckMeaning(const PlanFlags& values, const TestPlan& plan) {
  const auto refuse = [&plan](absl::string_view flag, const std::string& value) {
    return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": means nothing for ",
                                                   WordFor(plan.op), "; fix: leave it out"));
  };
  const bool combines = plan.op == Kind::kAllReduce || plan.op == Kind::kReduceScatter;
  if (!combines && plan.reduce != ReduceOp::kSum) return refuse("reduce", values.reduce);
  if (plan.op != Kind::kBarrier) return absl::OkStatus();
  if (values.sizes != PlanFlags().sizes && values.sizes != "0") {
    return refuse("sizes", values.sizes);
  }
  if (plan.type != DataType::kFloat32) return refuse("type", values.type);
  return absl::OkStatus();
}

}  // namespace

const char* NameOf(Transport transport) {
  switch (transport) {
    case Transport::kAuto:
      return "auto";
    case Transport::kTcp:
      return "tcp";
    case Transport::kSharedMemory:
      return "shared_memory";
    case Transport::kGrpc:
      return "grpc";
    case Transport::kInproc:
      return "inproc";
  }
  return "";
}

const char* WordFor(Kind op) {
  switch (op) {
    case Kind::kAllReduce:
      return "all_reduce";
    case Kind::kReduceScatter:
      return "reduce_scatter";
    case Kind::kAllGather:
      return "all_gather";
    case Kind::kBroadcast:
      return "broadcast";
    case Kind::kBarrier:
      return "barrier";
  }
  return "";
}

std::optional<Kind> OpNamed(std::string_view word) {
  return Named(word, std::span<const Kind>(kOps), WordFor);
}
std::optional<DataType> TypeNamed(std::string_view word) {
  return Named(word, std::span<const DataType>(kTypes), [](DataType type) { return NameOf(type); });
}
std::optional<ReduceOp> ReduceNamed(std::string_view word) {
  return Named(word, std::span<const ReduceOp>(kReduces), [](ReduceOp op) { return NameOf(op); });
}

void AddPlanFlags(PlanFlags& values, FlagSet& flags) {
  flags.BeginGroup("What is measured");
  flags.Add({"op", "all_reduce, reduce_scatter, all_gather, broadcast or barrier", values.op,
             SetText(&values.op)});
  flags.Add({"type", "fp32, fp16, bf16, fp64, int32 or int64", values.type, SetText(&values.type)});
  flags.Add({"reduce", "sum, average, min or max", values.reduce, SetText(&values.reduce)});
  flags.Add({"sizes", "bytes of a rank's buffer: a list (4K,1M) or a range (4K:100M:x4)",
             values.sizes, SetText(&values.sizes)});
  flags.Add({"in_place", "both, in (input and output are one buffer) or out", values.in_place,
             SetText(&values.in_place)});
  flags.Add({"warmup", "calls before each size is timed", "2", SetWhole(&values.warmup, 1, 1000)});
  flags.Add({"iterations", "repetitions of each size; 0: as many as fit into --budget_s", "0",
             SetWhole(&values.iterations, 0, 1'000'000)});
  flags.Add({"budget_s", "seconds of timing for each size", "0.5",
             SetReal(&values.budget_s, 0.001, 3600)});
  flags.Add(
      {"limits", "time raw TCP streams and memcpy too", "true", SetBool(&values.limits), true});
  flags.BeginGroup("How");
  flags.Add({"algorithm", "instead of the choice by size (ring, ...)", values.algorithm,
             SetText(&values.algorithm)});
  flags.Add({"costs", "alpha,message,beta,gamma of the choice by size: what --use_fit reads",
             "shipped", SetText(&values.costs)});
  flags.Add({"transport", "tcp, shared_memory, grpc or inproc; auto: the best that ranks share",
             values.transport, SetText(&values.transport)});
  flags.Add({"buffers", "private, or shared: from the allocator that peers can read",
             values.buffers, SetText(&values.buffers)});
  flags.Add({"congestion_control", "of TCP; '' leaves the host's", values.congestion_control,
             SetText(&values.congestion_control)});
  flags.Add({"deadline_s",
             "seconds without a sign of a peer in a collective until that is an error; "
             "a process is lost after half of it, at most 10 s",
             "60", SetReal(&values.deadline_s, 0.5, 3600)});
}

absl::StatusOr<TestPlan> ReadPlan(const PlanFlags& values) {
  TestPlan plan;
  ASSIGN_OR_RETURN(plan.op, Choose("op", values.op, std::span<const Kind>(kOps), WordFor));
  const auto type_word = [](DataType type) { return NameOf(type); };
  const auto reduce_word = [](ReduceOp op) { return NameOf(op); };
  const auto transport_word = [](Transport transport) { return NameOf(transport); };
  ASSIGN_OR_RETURN(plan.type,
                   Choose("type", values.type, std::span<const DataType>(kTypes), type_word));
  ASSIGN_OR_RETURN(plan.reduce, Choose("reduce", values.reduce, std::span<const ReduceOp>(kReduces),
                                       reduce_word));
  ASSIGN_OR_RETURN(plan.transport, Choose("transport", values.transport,
                                          std::span<const Transport>(kTransports), transport_word));
  RETURN_IF_ERROR(CheckMeaning(values, plan));
  const absl::StatusOr<std::vector<int64_t>> sizes = ParseSizes(values.sizes);
  RETURN_IF_ERROR(Annotate(sizes.status(), "--sizes: "));
  plan.sizes = plan.op == Kind::kBarrier ? std::vector<int64_t>{0} : *sizes;
  for (const int64_t size : plan.sizes) {
    const auto value_bytes = static_cast<int64_t>(BytesOf(plan.type));
    if (size % value_bytes == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("--sizes: ", size,
                                                   " bytes are no whole number of ", values.type,
                                                   " values; fix: multiples of ", value_bytes));
  }
  RETURN_IF_ERROR(ReadAlgorithm(values.algorithm, plan));
  RETURN_IF_ERROR(ReadCosts(values.costs, plan));
  RETURN_IF_ERROR(ReadPlaces(values, plan));
  // Without a buffer there is no place.
  if (plan.op == Kind::kBarrier) plan.out_of_place = false;
  if (plan.op == Kind::kBarrier) plan.in_place = true;
  plan.congestion_control = values.congestion_control;
  plan.warmup = values.warmup;
  plan.iterations = values.iterations;
  plan.budget_s = values.budget_s;
  plan.deadline_s = values.deadline_s;
  plan.limits = values.limits;
  return plan;
}

std::vector<std::string> FlagsOf(const TestPlan& plan) {
  const char* in_place = plan.out_of_place ? (plan.in_place ? "both" : "out") : "in";
  return {
      absl::StrCat("--op=", WordFor(plan.op)),
      absl::StrCat("--type=", NameOf(plan.type)),
      absl::StrCat("--reduce=", NameOf(plan.reduce)),
      absl::StrCat("--sizes=", SizesText(plan.sizes)),
      absl::StrCat("--algorithm=", plan.algorithm ? allreduce::NameOf(*plan.algorithm) : "auto"),
      absl::StrCat("--costs=", plan.costs ? CostsText(*plan.costs) : ""),
      absl::StrCat("--transport=", NameOf(plan.transport)),
      absl::StrCat("--buffers=", plan.shared_buffers ? "shared" : "private"),
      absl::StrCat("--in_place=", in_place),
      absl::StrCat("--congestion_control=", plan.congestion_control),
      absl::StrCat("--warmup=", plan.warmup),
      absl::StrCat("--iterations=", plan.iterations),
      absl::StrCat("--budget_s=", plan.budget_s),
      absl::StrCat("--deadline_s=", plan.deadline_s),
      absl::StrCat("--limits=", plan.limits ? "true" : "false")};
}

std::string CostsText(const allreduce::CostFit& costs) {
  return absl::StrCat(costs.alpha_us, ",", costs.message_us, ",", costs.beta_us_per_byte, ",",
                      costs.gamma_us_per_byte);
}

uint64_t FingerprintOf(int world_size) {
  const std::string text = absl::StrCat("comm_test ", world_size);
  return Fnv1a(std::as_bytes(std::span(text)));
}

std::string TextOf(const TestPlan& plan) { return absl::StrJoin(FlagsOf(plan), "\n"); }

absl::Status CheckSamePlans(const std::vector<std::string>& plans) {
  const std::vector<std::string> first = absl::StrSplit(plans.front(), '\n');
  std::vector<std::string> differences;
  for (size_t rank = 1; rank < plans.size(); ++rank) {
    const std::vector<std::string> other = absl::StrSplit(plans[rank], '\n');
    if (other.size() != first.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " is of another build; fix: the same program on all hosts"));
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (other[i] == first[i]) continue;
      differences.push_back(
          absl::StrCat("rank 0 has ", first[i], " and rank ", rank, " ", other[i]));
    }
  }
  if (differences.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("ranks disagree on what is measured: ", absl::StrJoin(differences, "; "),
                   "; fix: the same flags for every rank"));
}

double LossS(const TestPlan& plan) { return std::min(plan.deadline_s / 2, kLossSMax); }

}  // namespace crossover::bench
