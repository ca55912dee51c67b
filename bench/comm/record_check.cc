#include "bench/comm/record_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/comm/limits.h"
#include "bench/shared/sizes.h"
#include "core/status.h"
#include "lab/network_spec.h"

namespace crossover::bench {
namespace {

// Smaller ones may be faster than the link: they lie in buffers on the way.
constexpr int64_t kPossibleBytesMin = 16 << 20;
constexpr double kPossibleSlack = 1.02;  // what the lab's own check allows

absl::Status CheckRight(const Record& record) {
  if (record.wrong == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      record.library, " ", record.transport, " ", record.algorithm, ", ", record.op, " of ",
      record.bytes, " bytes: ", record.wrong, " wrong elements among ", record.ranks, " ranks"));
}

absl::Status CheckPossible(const Record& record) {
  if (record.network.empty() || record.bytes < kPossibleBytesMin) return absl::OkStatus();
  ASSIGN_OR_RETURN(const lab::NetworkSpec network, lab::ParseNetworkSpec(record.network));
  const double link_bytes_per_s =
      lab::TcpPayloadBytesPerS(network.LinkOf("worker").rate_bits_per_s);
  if (link_bytes_per_s <= 0 || record.busbw_GBps * 1e9 <= link_bytes_per_s * kPossibleSlack) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrFormat(
      "impossible: %s %s, %s of %s among %d ranks, has a busbw of %.4f GB/s, and the link of %s "
      "carries %.4f GB/s of TCP's payload: the time or the traffic was measured wrongly",
      record.library, record.algorithm, record.op, SizeText(record.bytes), record.ranks,
      record.busbw_GBps, record.network, link_bytes_per_s * 1e-9));
}

}  // namespace

absl::Status CheckRecords(const std::vector<Record>& records) {
  for (const Record& record : records) {
    RETURN_IF_ERROR(CheckRight(record));
    if (record.library != kLimitLibrary) RETURN_IF_ERROR(CheckPossible(record));
  }
  return absl::OkStatus();
}

}  // namespace crossover::bench
