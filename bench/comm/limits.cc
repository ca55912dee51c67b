#include "bench/comm/limits.h"

#include <algorithm>
#include <cstring>

#include "bench/shared/buffer.h"
#include "core/status.h"
#include "experiments/results/statistics.h"

namespace crossover::bench {
namespace {

constexpr int64_t kMemcpyBytes = 100 << 20;
constexpr int kMemcpyTimes = 7;
constexpr double kStreamS = 1;
constexpr int64_t kFirstStreamBytes = 4 << 20;
constexpr int64_t kStreamBytesMax = int64_t{4} << 30;

Record LimitRecord(const char* transport, const char* algorithm, int64_t ranks, int64_t bytes,
                   double bytes_per_s) {
  Record record;
  record.library = kLimitLibrary;
  record.transport = transport;
  record.algorithm = algorithm;
  record.op = "copy";
  record.ranks = ranks;
  record.bytes = bytes;
  record.time_us = bytes_per_s > 0 ? static_cast<double>(bytes) / bytes_per_s * 1e6 : 0;
  record.time_us_min = record.time_us_max = record.time_us;
  SetRates(record);
  return record;
}

// Between two buffers of this process: the median of a few copies.
absl::StatusOr<double> MemcpyBytesPerS(const Clock& clock) {
  ASSIGN_OR_RETURN(const Buffer from, Buffer::Private(kMemcpyBytes));
  ASSIGN_OR_RETURN(const Buffer into, Buffer::Private(kMemcpyBytes));
  std::memset(from.data(), 1, kMemcpyBytes);
  std::memset(into.data(), 2, kMemcpyBytes);
  std::vector<double> seconds;
  for (int i = 0; i < kMemcpyTimes; ++i) {
    const int64_t start_ns = clock.NowNs();
    std::memcpy(into.data(), from.data(), kMemcpyBytes);
    asm volatile("" : : "r"(into.data()) : "memory");  // the copy is not dead code
    seconds.push_back(static_cast<double>(clock.NowNs() - start_ns) * 1e-9);
  }
  return static_cast<double>(kMemcpyBytes) / experiments::Median(std::move(seconds));
}

// First a short stream, which tells how many bytes last about a second; then that many.
absl::StatusOr<Record> MeasureStream(Control& control, const char* algorithm, int to, int from) {
  const bool counts = from >= 0;
  int64_t bytes = kFirstStreamBytes;
  double slowest = 0;
  for (const bool measured : {false, true}) {
    RETURN_IF_ERROR(control.Barrier());
    ASSIGN_OR_RETURN(const double rate, control.Stream(to, from, bytes));
    // The smallest rate of those that received.
    ASSIGN_OR_RETURN(const double inverse, control.Max(counts && rate > 0 ? 1 / rate : 0));
    slowest = inverse > 0 ? 1 / inverse : 0;
    if (!measured) {
      bytes = std::clamp<int64_t>(static_cast<int64_t>(slowest * kStreamS), kFirstStreamBytes,
                                  kStreamBytesMax);
    }
  }
  const int64_t ranks = algorithm == kOnePair ? 2 : control.world_size();
  return LimitRecord("tcp", algorithm, ranks, bytes, slowest);
}

}  // namespace

absl::StatusOr<std::vector<Record>> MeasureLimits(Control& control, bool streams) {
  std::vector<Record> records;
  RETURN_IF_ERROR(control.Barrier());
  if (control.rank() == 0) {
    ASSIGN_OR_RETURN(const double rate, MemcpyBytesPerS(control.clock()));
    records.push_back(LimitRecord("memory", kMemcpy, 1, kMemcpyBytes, rate));
  }
  RETURN_IF_ERROR(control.Barrier());
  const int ranks = control.world_size();
  if (!streams || ranks < 2) return records;
  const int rank = control.rank();
  ASSIGN_OR_RETURN(records.emplace_back(),
                   MeasureStream(control, kOnePair, rank == 0 ? 1 : -1, rank == 1 ? 0 : -1));
  ASSIGN_OR_RETURN(records.emplace_back(), MeasureStream(control, kAllDuplex, (rank + 1) % ranks,
                                                         (rank + ranks - 1) % ranks));
  RETURN_IF_ERROR(control.Barrier());
  return records;
}

Record ProbeRecord(const lab::ProbeResult& probe) {
  Record record;
  record.library = kLimitLibrary;
  record.transport = "tcp";
  record.algorithm = kLabProbe;
  record.op = "copy";
  record.ranks = static_cast<int64_t>(probe.nodes.size());
  double slowest = probe.nodes.front().receive_bytes_per_s;
  for (const lab::ProbedNode& node : probe.nodes) {
    slowest = std::min(slowest, node.receive_bytes_per_s);
  }
  record.bytes = static_cast<int64_t>(slowest * probe.seconds);
  record.time_us = probe.seconds * 1e6;
  SetRates(record);
  return record;
}

}  // namespace crossover::bench
