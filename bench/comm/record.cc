#include "bench/comm/record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"
#include "experiments/results/json_archive.h"

namespace crossover::bench {

template <typename Archive>
void Fields(Archive& archive, Record& record) {
  archive("library", record.library);
  archive("transport", record.transport);
  archive("algorithm", record.algorithm);
  archive("op", record.op);
  archive("ranks", record.ranks);
  archive("bytes", record.bytes);
  archive("time_us", record.time_us);
  archive("algbw_GBps", record.algbw_GBps);
  archive("busbw_GBps", record.busbw_GBps);
  archive("cpu_us", record.cpu_us);
  archive("wrong", record.wrong);
  archive.Later("type", record.type);
  archive.Later("reduce", record.reduce);
  archive.Later("buffers", record.buffers);
  archive.Later("network", record.network);
  archive.Later("ranks_per_node", record.ranks_per_node);
  archive.Later("host", record.host);
  archive.Later("in_place", record.in_place);
  archive.Later("round", record.round);
  archive.Later("time_us_min", record.time_us_min);
  archive.Later("time_us_max", record.time_us_max);
  archive.Later("slowest_rank", record.slowest_rank);
  archive.Later("rank_time_us", record.rank_time_us);
}

double BusFactor(std::string_view op, int64_t ranks) {
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (op == "all_reduce") return 2 * others;
  return op == "reduce_scatter" || op == "all_gather" ? others : 1;
}

void SetRates(Record& record) {
  if (record.time_us <= 0) return;
  record.algbw_GBps = static_cast<double>(record.bytes) / record.time_us * 1e-3;
  record.busbw_GBps = record.algbw_GBps * BusFactor(record.op, record.ranks);
}

std::string WriteRecord(const Record& record) { return experiments::WriteJson(record); }

absl::StatusOr<Record> ReadRecord(std::string_view line) {
  Record record;
  const std::string error = experiments::ReadJson(line, record);
  if (error.empty()) return record;
  return absl::InvalidArgumentError(absl::StrCat("not a line of comm_test: ", error));
}

absl::StatusOr<std::vector<Record>> ReadRecords(std::string_view text) {
  std::vector<Record> records;
  const bool cut_off = !text.empty() && text.back() != '\n';
  int number = 0;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    if (line.empty() || line.front() != '{') continue;
    absl::StatusOr<Record> record = ReadRecord({line.data(), line.size()});
    if (!record.ok() && cut_off && line.data() + line.size() == text.data() + text.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number,
                       ", the last, was cut off while it was written; fix: ", "delete that line"));
    }
    RETURN_IF_ERROR(Annotate(record.status(), absl::StrCat("line ", number, ": ")));
    records.push_back(*std::move(record));
  }
  return records;
}

}  // namespace crossover::bench
