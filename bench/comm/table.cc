#include "bench/comm/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bench/comm/limits.h"
#include "bench/shared/sizes.h"
#include "bench/shared/text_table.h"
#include "experiments/results/statistics.h"

namespace crossover::bench {
namespace {

// "1gbit, 2 ranks a node: "; "" where no lab is.
std::string NetworkOf(const Series& series) {
  if (series.network.empty()) return "";
  if (series.ranks_per_node == 1) return series.network + ": ";
  return absl::StrCat(series.network, ", ", series.ranks_per_node, " ranks a node: ");
}

std::string NameOf(const Series& series) {
  return absl::StrCat(NetworkOf(series), series.library, " ", series.transport, " ",
                      series.algorithm, series.buffers == "shared" ? " shared buffers" : "",
                      series.reduce == "sum" ? "" : " " + series.reduce);
}

double MostUs(const Series& series) {
  double most = 0;
  for (const auto& [round, record] : series.by_round) most = std::max(most, record.time_us_max);
  return most;
}

double LeastUs(const Series& series) {
  double least = series.by_round.begin()->second.time_us_min;
  for (const auto& [round, record] : series.by_round) least = std::min(least, record.time_us_min);
  return least;
}

// The rank that was slowest, of the last round: "2: 41.3 of 40.9" is its median and the median of
// all ranks' medians.
std::string SlowestRank(const Series& series) {
  const Record& last = series.by_round.rbegin()->second;
  if (last.slowest_rank < 0 || last.rank_time_us.empty()) return "";
  return absl::StrCat(last.slowest_rank, ": ", Figure(last.rank_time_us[last.slowest_rank]), " of ",
                      Figure(experiments::Median(last.rank_time_us)));
}

std::string LimitsTable(const std::vector<Series>& all) {
  std::vector<Row> rows = {{"limit", "ranks", "GB/s"}};
  for (const Series& series : all) {
    if (series.library != kLimitLibrary) continue;
    rows.push_back({absl::StrCat(NetworkOf(series), series.transport, " ", series.algorithm),
                    absl::StrCat(series.ranks), Figure(series.Busbw())});
  }
  return Aligned("What the machine and the link can do (raw; the slowest receiver)", rows);
}

std::string SweepTable(const std::vector<Series>& all, bool latency) {
  std::vector<Row> rows = {{"who", "op", "type", "ranks", "bytes", "place", "time us", "least",
                            "most", "algbw", "busbw", "cpu us", "slowest rank", "wrong"}};
  for (const Series& series : all) {
    if (series.library == kLimitLibrary) continue;
    if ((series.bytes <= kLatencyBytesMax) != latency) continue;
    rows.push_back({NameOf(series), series.op, series.type, absl::StrCat(series.ranks),
                    SizeText(series.bytes), series.in_place ? "in" : "out",
                    Figure(series.MedianTimeUs()), Figure(LeastUs(series)), Figure(MostUs(series)),
                    Figure(series.Algbw()), Figure(series.Busbw()), Figure(series.MedianCpuUs()),
                    SlowestRank(series), absl::StrCat(series.Wrong())});
  }
  return Aligned(latency ? "Latency (up to 64 KiB; rates in GB/s)" : "Bandwidth (rates in GB/s)",
                 rows);
}

std::string PeersTable(const std::vector<Series>& all) {
  std::vector<Row> rows = {{"ours", "ranks", "bytes", "time us", "best peer", "time us",
                            "times as fast, by round", "range", "cpu of theirs"}};
  for (const Series& ours : all) {
    if (ours.library != "crossover") continue;
    const Series* peer = BestPeer(all, ours);
    if (peer == nullptr) continue;
    const std::optional<PairedRatio> speed = SpeedRatio(ours, *peer);
    const std::optional<PairedRatio> cpu = CpuRatio(ours, *peer);
    if (!speed) continue;
    rows.push_back({NameOf(ours), absl::StrCat(ours.ranks), SizeText(ours.bytes),
                    Figure(ours.MedianTimeUs()), absl::StrCat(peer->library, " ", peer->algorithm),
                    Figure(peer->MedianTimeUs()), RatioText(*speed),
                    absl::StrCat(Figure(speed->lowest), " to ", Figure(speed->highest)),
                    cpu && cpu->median > 0 ? Figure(1 / cpu->median) : ""});
  }
  return Aligned(
      "Beside the peer whose algorithm has the best median (median of the ratios by round, and "
      "their 95% interval from six rounds on, else their range)",
      rows);
}

}  // namespace

std::string Tables(const std::vector<Series>& all) {
  return absl::StrCat(LimitsTable(all), SweepTable(all, true), SweepTable(all, false),
                      PeersTable(all));
}

}  // namespace crossover::bench
