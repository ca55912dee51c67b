#include "bench/comm/cells.h"

#include <algorithm>

#include "bench/comm/limits.h"
#include "experiments/results/statistics.h"

namespace crossover::bench {
namespace {

constexpr char kOurLibrary[] = "crossover";

template <typename Value>
double MedianOver(const std::map<int64_t, Record>& rounds, Value value) {
  std::vector<double> values;
  for (const auto& [round, record] : rounds) values.push_back(value(record));
  return experiments::Median(std::move(values));
}

Series SeriesLike(const Record& record) {
  return {.library = record.library,
          .network = record.network,
          .ranks_per_node = record.ranks_per_node,
          .transport = record.transport,
          .algorithm = record.algorithm,
          .op = record.op,
          .type = record.type,
          .reduce = record.reduce,
          .buffers = record.buffers,
          .in_place = record.in_place,
          .ranks = record.ranks,
          .bytes = record.bytes,
          .by_round = {}};
}

template <typename Value>
std::map<int64_t, double> ByRound(const Series& series, Value value) {
  std::map<int64_t, double> values;
  for (const auto& [round, record] : series.by_round) values[round] = value(record);
  return values;
}

}  // namespace

double Series::MedianTimeUs() const {
  return MedianOver(by_round, [](const Record& record) { return record.time_us; });
}
double Series::Algbw() const {
  const double time_us = MedianTimeUs();
  return time_us > 0 ? static_cast<double>(bytes) / time_us * 1e-3 : 0;
}
double Series::Busbw() const {
  if (library == kLimitLibrary) {  // whose bytes follow its rate
    return MedianOver(by_round, [](const Record& record) { return record.busbw_GBps; });
  }
  return Algbw() * BusFactor(op, ranks);
}
double Series::MedianCpuUs() const {
  return MedianOver(by_round, [](const Record& record) { return record.cpu_us; });
}
int64_t Series::Wrong() const {
  int64_t wrong = 0;
  for (const auto& [round, record] : by_round) wrong += record.wrong;
  return wrong;
}

std::vector<Series> SeriesOf(const std::vector<Record>& records) {
  std::vector<Series> all;
  for (const Record& record : records) {
    // A raw stream's bytes follow its rate: not what tells streams apart.
    Record key = record;
    if (record.library == kLimitLibrary) key.bytes = 0;
    auto found = std::find_if(all.begin(), all.end(), [&](const Series& series) {
      return MeasurementKey(series) == MeasurementKey(key);
    });
    if (found == all.end()) found = all.insert(all.end(), SeriesLike(key));
    found->by_round[record.round] = record;
  }
  return all;
}

std::optional<PairedRatio> SpeedRatio(const Series& ours, const Series& theirs) {
  const auto time_us = [](const Record& record) { return record.time_us; };
  return RatioOf(ByRound(ours, time_us), ByRound(theirs, time_us));
}

std::optional<PairedRatio> CpuRatio(const Series& ours, const Series& theirs) {
  const auto cpu_us = [](const Record& record) { return record.cpu_us; };
  return RatioOf(ByRound(ours, cpu_us), ByRound(theirs, cpu_us));
}

const Series* BestPeer(const std::vector<Series>& all, const Series& ours,
                       const std::string& library) {
  const Series* best = nullptr;
  for (const Series& series : all) {
    if (series.library == kOurLibrary || series.library == kLimitLibrary) continue;
    if (!library.empty() && series.library != library) continue;
    if (std::tie(series.network, series.ranks_per_node, series.transport, series.op, series.type,
                 series.reduce, series.ranks, series.bytes) !=
        std::tie(ours.network, ours.ranks_per_node, ours.transport, ours.op, ours.type, ours.reduce,
                 ours.ranks, ours.bytes)) {
      continue;
    }
    if (best == nullptr || series.MedianTimeUs() < best->MedianTimeUs()) best = &series;
  }
  return best;
}

}  // namespace crossover::bench
