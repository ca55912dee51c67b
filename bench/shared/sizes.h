// Sizes of buffers as a user writes them: "4K", "16M", "1G" (powers of 1024), plain bytes, a list
// between commas, or a range: "4K:100M:x4" begins at 4 KiB and goes on by the factor up to 100 MiB,
// which comes last whatever the factor. Pure.
#ifndef CROSSOVER_BENCH_SHARED_SIZES_H_
#define CROSSOVER_BENCH_SHARED_SIZES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace crossover::bench {

// In the order given, none twice. Errors say what was found and what is allowed.
absl::StatusOr<std::vector<int64_t>> ParseSizes(std::string_view text);

// As ParseSizes reads it back: "4K", "100M", "1000".
std::string SizeText(int64_t bytes);
std::string SizesText(const std::vector<int64_t>& sizes);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_SIZES_H_
