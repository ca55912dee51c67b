#include "bench/comm/memory_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/shared/sizes.h"

namespace crossover::bench {
namespace {

constexpr double kBytesPerGb = 1e9;

// Of a rank's buffers, over the size of the test: in place one, else an input and an output.
double BuffersOf(const TestPlan& plan, int world_size) {
  if (!plan.out_of_place) return 1;
  return allreduce::HasBlocks(plan.op) ? 1 + 1.0 / world_size : 2;
}

}  // namespace

absl::Status CheckMemory(const TestPlan& plan, int ranks_here, int world_size,
                         int64_t available_bytes) {
  const auto largest = std::max_element(plan.sizes.begin(), plan.sizes.end());
  if (largest == plan.sizes.end() || available_bytes == 0) return absl::OkStatus();
  const double of_a_size = BuffersOf(plan, world_size) * ranks_here;
  const double needed = static_cast<double>(*largest) * of_a_size;
  const auto available = static_cast<double>(available_bytes);
  if (needed <= available) return absl::OkStatus();
  constexpr int64_t kMebibyte = 1 << 20;
  const auto fits = static_cast<int64_t>(available / of_a_size) / kMebibyte * kMebibyte;
  return absl::ResourceExhaustedError(absl::StrFormat(
      "--sizes=%s: %d ranks on one machine need %.1f GB for their buffers, and %.1f GB are free; "
      "fix: sizes of at most %s",
      SizeText(*largest), ranks_here, needed / kBytesPerGb, available / kBytesPerGb,
      SizeText(fits)));
}

}  // namespace crossover::bench
