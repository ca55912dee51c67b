// What a communication test measures: the same on all of its ranks. Read from flags, and written
// back as flags for the processes that the test starts. Pure.
#ifndef CROSSOVER_BENCH_COMM_TEST_PLAN_H_
#define CROSSOVER_BENCH_COMM_TEST_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/algorithms.h"
#include "allreduce/choice.h"
#include "core/data_type.h"
#include "core/flag_parser.h"

namespace crossover::bench {

enum class Transport { kAuto, kTcp, kSharedMemory, kGrpc, kInproc };
const char* NameOf(Transport transport);  // "auto", "tcp", "shared_memory", "grpc", "inproc"

struct TestPlan {
  allreduce::Kind op = allreduce::Kind::kAllReduce;
  DataType type = DataType::kFloat32;
  ReduceOp reduce = ReduceOp::kSum;
  std::vector<int64_t> sizes;  // bytes of a rank's buffer: of all N blocks where there are blocks
  std::optional<allreduce::Algorithm> algorithm;  // none: the communicator's choice
  std::optional<allreduce::CostFit> costs;        // by which it chooses; none: the shipped ones
  Transport transport = Transport::kAuto;
  bool shared_buffers = false;  // from the allocator that peers on the host can read
  bool in_place = true;
  bool out_of_place = true;
  int64_t warmup = 2;
  int64_t iterations = 0;  // repetitions of each size; 0: as many as the budget has room for
  double budget_s = 0.5;   // of timing, for each size
  std::string congestion_control = "cubic";  // "": the host's default
  double deadline_s = 60;                    // without a sign of a peer
  bool limits = true;                        // raw streams and memcpy beside the collectives
};

// The words of an operation in flags and JSON: "all_reduce", "reduce_scatter", ...
const char* WordFor(allreduce::Kind op);
std::optional<allreduce::Kind> OpNamed(std::string_view word);
std::optional<DataType> TypeNamed(std::string_view word);
std::optional<ReduceOp> ReduceNamed(std::string_view word);

// The flags' values as they were given.
struct PlanFlags {
  std::string op = "all_reduce";
  std::string type = "fp32";
  std::string reduce = "sum";
  std::string sizes = "4K:100M:x4";
  std::string algorithm = "auto";
  std::string costs;
  std::string transport = "auto";
  std::string buffers = "private";
  std::string in_place = "both";
  std::string congestion_control = "cubic";
  int64_t warmup = 2;
  int64_t iterations = 0;
  double budget_s = 0.5;
  double deadline_s = 60;
  bool limits = true;
};
// `values` is borrowed and outlives every Parse.
void AddPlanFlags(PlanFlags& values, FlagSet& flags);
// Errors name the flag, what was found and what is allowed.
absl::StatusOr<TestPlan> ReadPlan(const PlanFlags& values);
// Flags that ReadPlan makes the same plan of.
std::vector<std::string> FlagsOf(const TestPlan& plan);
// As --costs has them.
std::string CostsText(const allreduce::CostFit& costs);
// By which ranks of one test know each other before they compare their plans.
uint64_t FingerprintOf(int world_size);
// The plan as ranks tell it to each other.
std::string TextOf(const TestPlan& plan);
// Refuses plans (TextOf, by rank) that are not all the same, with both sides of every difference:
// the same error on every rank.
absl::Status CheckSamePlans(const std::vector<std::string>& plans);
// Silence of a rank or of the meeting point that counts as its loss.
double LossS(const TestPlan& plan);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_TEST_PLAN_H_
