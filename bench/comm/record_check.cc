#include "bench/comm/record_check.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bench/comm/limits.h"
#include "bench/comm/test_plan.h"
#include "bench/shared/sizes.h"
#include "core/status.h"
#include "lab/network_spec.h"

namespace crossover::bench {
namespace {

// Smaller ones may be faster than the link: they lie in buffers on the way.
constexpr int64_t kPossibleBytesMin = 16 << 20;
constexpr double kPossibleSlack = 1.02;  // what the lab's own check allows
constexpr double kRanksMax = 65536;
constexpr double kRateSlack = 0.01;

absl::Status CheckRight(const Record& record) {
  if (record.wrong == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      record.library, " ", record.transport, " ", record.algorithm, ", ", record.op, " of ",
      record.bytes, " bytes: ", record.wrong, " wrong elements among ", record.ranks, " ranks"));
}

// Over what a node's link carries: each rank's, or with k ranks a node the share of the values that
// crosses between nodes, (N-k)/N of them in place of (N-1)/N. Nothing where nothing crosses.
std::optional<double> BusbwOverLink(const Record& record) {
  const auto ranks = static_cast<double>(record.ranks);
  const auto together = static_cast<double>(record.ranks_per_node);
  if (together >= ranks) return std::nullopt;
  const bool by_shares = record.op != "broadcast" && record.op != "barrier";
  return by_shares ? (ranks - 1) / (ranks - together) : 1;
}

absl::Status CheckPossible(const Record& record) {
  if (record.network.empty() || record.bytes < kPossibleBytesMin) return absl::OkStatus();
  ASSIGN_OR_RETURN(const lab::NetworkSpec network, lab::ParseNetworkSpec(record.network));
  const double link_bytes_per_s =
      lab::TcpPayloadBytesPerS(network.LinkOf("worker").rate_bits_per_s);
  const std::optional<double> over_link = BusbwOverLink(record);
  if (!over_link || link_bytes_per_s <= 0) return absl::OkStatus();
  const double limit_bytes_per_s = *over_link * link_bytes_per_s;
  if (record.busbw_GBps * 1e9 <= limit_bytes_per_s * kPossibleSlack) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "impossible: %s %s, %s of %s among %d ranks, has a busbw of %.4f GB/s, and with %d to a node "
      "the link of %s allows %.4f GB/s of TCP's payload: the time or the traffic was measured "
      "wrongly",
      record.library, record.algorithm, record.op, SizeText(record.bytes), record.ranks,
      record.busbw_GBps, record.ranks_per_node, record.network, limit_bytes_per_s * 1e-9));
}

absl::Status Refuse(const char* field, const std::string& found, const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", found, "; allowed: ", allowed));
}

absl::Status CheckWords(const Record& record) {
  const bool limit = record.library == kLimitLibrary;
  if (limit ? record.op != "copy" : !OpNamed(record.op)) {
    return Refuse("op", record.op, limit ? "copy" : "the operations of --op");
  }
  if (!TypeNamed(record.type)) return Refuse("type", record.type, "the types of --type");
  if (!ReduceNamed(record.reduce)) return Refuse("reduce", record.reduce, "the words of --reduce");
  return absl::OkStatus();
}

absl::Status CheckNumbers(const Record& record) {
  struct Number {
    const char* field;
    double value;
    double least;
    double most;
  };
  constexpr double kMost = 1e15;
  const double ranks = static_cast<double>(record.ranks);
  // Of a stream that carried nothing: 0.
  const double time_us_least =
      record.library == kLimitLibrary ? 0 : std::numeric_limits<double>::min();
  const Number numbers[] = {
      {"ranks", ranks, 1, kRanksMax},
      {"ranks_per_node", static_cast<double>(record.ranks_per_node), 1, kRanksMax},
      {"bytes", static_cast<double>(record.bytes), 0, kMost},
      {"round", static_cast<double>(record.round), 0, kMost},
      {"wrong", static_cast<double>(record.wrong), 0, kMost},
      {"slowest_rank", static_cast<double>(record.slowest_rank), -1, ranks - 1},
      {"time_us", record.time_us, time_us_least, kMost},
      {"time_us_min", record.time_us_min, 0, kMost},
      {"time_us_max", record.time_us_max, 0, kMost},
      {"cpu_us", record.cpu_us, 0, kMost}};
  for (const Number& number : numbers) {
    if (number.value >= number.least && number.value <= number.most) continue;  // no NaN either
    return Refuse(
        number.field, absl::StrCat(number.value),
        absl::StrCat(number.least > 0 && number.least < 1 ? "above 0" : absl::StrCat(number.least),
                     " to ", number.most));
  }
  if (!record.rank_time_us.empty() &&
      record.rank_time_us.size() != static_cast<size_t>(record.ranks)) {
    return Refuse("rank_time_us", absl::StrCat("a list of ", record.rank_time_us.size()),
                  absl::StrCat("one for each of ", record.ranks, " ranks"));
  }
  for (const double time_us : record.rank_time_us) {
    if (time_us >= 0 && time_us <= kMost) continue;
    return Refuse("rank_time_us", absl::StrCat(time_us), absl::StrCat("0 to ", kMost));
  }
  return absl::OkStatus();
}

// Tables make rates from times, and CheckRecords goes by rates: they must agree. A limit's bytes
// follow its rate.
absl::Status CheckRates(const Record& record) {
  if (record.library == kLimitLibrary) return absl::OkStatus();
  Record made = record;
  SetRates(made);
  const auto differ = [](double found, double right) {
    return !(std::abs(found - right) <= kRateSlack * right);
  };
  if (differ(record.algbw_GBps, made.algbw_GBps)) {
    return Refuse("algbw_GBps", absl::StrCat(record.algbw_GBps), absl::StrCat(made.algbw_GBps));
  }
  if (differ(record.busbw_GBps, made.busbw_GBps)) {
    return Refuse("busbw_GBps", absl::StrCat(record.busbw_GBps), absl::StrCat(made.busbw_GBps));
  }
  return absl::OkStatus();
}

absl::Status CheckFields(const Record& record) {
  RETURN_IF_ERROR(CheckWords(record));
  RETURN_IF_ERROR(CheckNumbers(record));
  return CheckRates(record);
}

// The numbers of lines that hold something.
absl::StatusOr<std::vector<int>> LinesOf(absl::string_view text) {
  std::vector<int> numbers;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    if (line.front() != '{') {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, " does not begin with '{', as all lines of --json do; fix: delete it"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

absl::Status CheckRecords(const std::vector<Record>& records) {
  for (const Record& record : records) {
    RETURN_IF_ERROR(CheckRight(record));
    if (record.library != kLimitLibrary) RETURN_IF_ERROR(CheckPossible(record));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Record>> ReadResults(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<int> lines, LinesOf({text.data(), text.size()}));
  ASSIGN_OR_RETURN(std::vector<Record> records, ReadRecords(text));
  const auto key_of = [](const Record& record) {
    return std::tuple_cat(MeasurementKey(record), std::tie(record.round));
  };
  std::map<decltype(key_of(Record())), int> line_of;
  for (size_t i = 0; i < records.size(); ++i) {
    RETURN_IF_ERROR(Annotate(CheckFields(records[i]), absl::StrCat("line ", lines[i], ": ")));
    if (records[i].library == kLimitLibrary) continue;  // each of our runs in a round has its own
    const auto [first, is_new] = line_of.emplace(key_of(records[i]), lines[i]);
    if (is_new) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("lines ", first->second, " and ", lines[i],
                     " are of one measurement and round; fix: give each run's file by itself"));
  }
  return records;
}

}  // namespace crossover::bench
