#include "bench/ps/push_pull_series.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/comm/limits.h"
#include "bench/shared/sizes.h"
#include "bench/shared/text_table.h"
#include "core/status.h"
#include "experiments/results/statistics.h"
#include "lab/network_spec.h"

namespace crossover::bench {
namespace {

// Smaller ones may be faster than the link: they lie in buffers on the way.
constexpr int64_t kPossibleBytesMin = 16 << 20;
constexpr double kPossibleSlack = 1.02;  // what the lab's own check allows

auto KeyOf(const PushPullRecord& record) {
  return std::tie(record.strategy, record.network, record.placement, record.workers_per_node,
                  record.workers, record.servers, record.bytes, record.buckets, record.part_bytes,
                  record.credits, record.settings);
}

using Field = double PushPullRecord::*;

std::map<int64_t, double> ByRound(const PushPullSeries& series, Field field) {
  std::map<int64_t, double> values;
  for (const auto& [round, record] : series.by_round) values[round] = record.*field;
  return values;
}

std::vector<double> ValuesOf(const PushPullSeries& series, Field field) {
  std::vector<double> values;
  for (const auto& [round, record] : series.by_round) values.push_back(record.*field);
  return values;
}

double MedianOf(const PushPullSeries& series, Field field) {
  return experiments::Median(ValuesOf(series, field));
}

double LeastOf(const PushPullSeries& series, Field field) {
  const std::vector<double> values = ValuesOf(series, field);
  return *std::min_element(values.begin(), values.end());
}

double MostOf(const PushPullSeries& series, Field field) {
  const std::vector<double> values = ValuesOf(series, field);
  return *std::max_element(values.begin(), values.end());
}

bool IsRingOf(const Record& record, const PushPullRecord& ours) {
  return record.library != kLimitLibrary && record.network == ours.network &&
         record.ranks == ours.workers && record.bytes == ours.bytes;
}

std::string Ms(double us) { return Figure(us * 1e-3); }

std::string PlaceText(const PushPullRecord& record) {
  std::string text =
      absl::StrCat(record.network.empty() ? "loopback" : record.network, ", ", record.workers,
                   record.workers == 1 ? " worker, " : " workers, ", record.servers);
  if (!record.network.empty()) absl::StrAppend(&text, " ", record.placement);
  absl::StrAppend(&text, record.servers == 1 ? " server" : " servers");
  if (record.workers_per_node > 1) {
    absl::StrAppend(&text, ", ", record.workers_per_node, " workers a node");
  }
  if (record.strategy != "ps_sync") absl::StrAppend(&text, ", ", record.strategy);
  if (!record.settings.empty()) absl::StrAppend(&text, ", ", record.settings);
  return text;
}

std::string TimesTable(const std::vector<PushPullSeries>& all) {
  std::vector<Row> rows = {{"where", "bytes", "buckets", "part", "credits", "time ms", "least",
                            "most", "pushed ms", "algbw", "total", "link", "bound ms",
                            "time / bound", "wrong"}};
  for (const PushPullSeries& series : all) {
    const PushPullRecord& first = series.first;
    const std::optional<PairedRatio> over = series.OverBound();
    rows.push_back({PlaceText(first), SizeText(first.bytes), absl::StrCat(first.buckets),
                    SizeText(first.part_bytes), absl::StrCat(first.credits), Ms(series.TimeUs()),
                    Ms(series.LeastUs()), Ms(series.MostUs()), Ms(series.PushUs()),
                    Figure(series.AlgbwGBps()), Figure(series.TotalGBps()),
                    Figure(series.LinkGBps()), over ? Ms(series.BoundUs()) : "",
                    over ? RatioText(*over) : "", absl::StrCat(series.Wrong())});
  }
  return Aligned(
      "Push and pull (GB/s: algbw of each worker each way, total of all workers each way, link of "
      "the raw streams)",
      rows);
}

std::string CostsTable(const std::vector<PushPullSeries>& all) {
  std::vector<Row> rows = {
      {"where", "bytes", "server cpu s/GB", "worker cpu s/GB", "server MB", "fairness"}};
  for (const PushPullSeries& series : all) {
    rows.push_back({PlaceText(series.first), SizeText(series.first.bytes),
                    Figure(series.ServerCpuSPerGB()), Figure(series.WorkerCpuSPerGB()),
                    Figure(series.ServerPeakMB()), absl::StrFormat("%.4f", series.Fairness())});
  }
  return Aligned(
      "What it costs (CPU seconds for 1e9 bytes that workers pushed; a server's peak of resident "
      "memory; Jain's index over the workers' rates)",
      rows);
}

std::string RingTable(const std::vector<PushPullSeries>& all) {
  std::vector<Row> rows = {{"where", "bytes", "time ms", "ring ms", "times as fast, by round"}};
  for (const PushPullSeries& series : all) {
    const std::optional<PairedRatio> ratio = series.RingOverOurs();
    if (!ratio) continue;
    std::vector<double> ring;
    for (const auto& [round, us] : series.ring_us) ring.push_back(us);
    rows.push_back({PlaceText(series.first), SizeText(series.first.bytes), Ms(series.TimeUs()),
                    Ms(experiments::Median(ring)), RatioText(*ratio)});
  }
  return Aligned(
      "Beside our ring AllReduce among the workers (median of the ratios by round, and their 95% "
      "interval from six rounds on, else their range)",
      rows);
}

}  // namespace

double PushPullSeries::TimeUs() const { return MedianOf(*this, &PushPullRecord::time_us); }
double PushPullSeries::PushUs() const { return MedianOf(*this, &PushPullRecord::push_us); }
double PushPullSeries::LinkGBps() const { return MedianOf(*this, &PushPullRecord::link_GBps); }
double PushPullSeries::BoundUs() const { return MedianOf(*this, &PushPullRecord::bound_us); }
double PushPullSeries::ServerCpuSPerGB() const {
  return MedianOf(*this, &PushPullRecord::server_cpu_s_per_GB);
}
double PushPullSeries::WorkerCpuSPerGB() const {
  return MedianOf(*this, &PushPullRecord::worker_cpu_s_per_GB);
}
double PushPullSeries::ServerPeakMB() const {
  return MostOf(*this, &PushPullRecord::server_peak_MB);
}
double PushPullSeries::LeastUs() const { return LeastOf(*this, &PushPullRecord::time_us_min); }
double PushPullSeries::MostUs() const { return MostOf(*this, &PushPullRecord::time_us_max); }
double PushPullSeries::Fairness() const { return LeastOf(*this, &PushPullRecord::fairness); }

int64_t PushPullSeries::Wrong() const {
  int64_t wrong = 0;
  for (const auto& [round, record] : by_round) wrong += record.wrong;
  return wrong;
}

double PushPullSeries::AlgbwGBps() const {
  return static_cast<double>(first.bytes) / TimeUs() * 1e-3;
}

double PushPullSeries::TotalGBps() const {
  return AlgbwGBps() * static_cast<double>(first.workers);
}

std::optional<PairedRatio> PushPullSeries::OverBound() const {
  return RatioOf(ByRound(*this, &PushPullRecord::bound_us),
                 ByRound(*this, &PushPullRecord::time_us));
}

std::optional<PairedRatio> PushPullSeries::RingOverOurs() const {
  return RatioOf(ByRound(*this, &PushPullRecord::time_us), ring_us);
}

std::vector<PushPullSeries> SeriesOf(const PushPullLines& lines) {
  std::vector<PushPullSeries> all;
  for (const PushPullRecord& record : lines.ours) {
    auto found = std::find_if(all.begin(), all.end(), [&](const PushPullSeries& series) {
      return KeyOf(series.first) == KeyOf(record);
    });
    if (found == all.end()) {
      found = all.emplace(all.end());
      found->first = record;
    }
    found->by_round[record.round] = record;
  }
  for (PushPullSeries& series : all) {
    for (const Record& record : lines.beside) {
      if (IsRingOf(record, series.first)) series.ring_us[record.round] = record.time_us;
    }
  }
  return all;
}

std::string TextOf(const PushPullRecord& record) {
  return absl::StrCat(PlaceText(record), ", ", SizeText(record.bytes));
}

std::string Tables(const std::vector<PushPullSeries>& all) {
  return absl::StrCat(TimesTable(all), CostsTable(all), RingTable(all));
}

absl::Status CheckLines(const std::vector<PushPullRecord>& lines) {
  for (const PushPullRecord& record : lines) {
    if (record.wrong > 0) {
      return absl::DataLossError(
          absl::StrCat(TextOf(record), ": ", record.wrong, " wrong elements"));
    }
    const bool shaped = !record.network.empty() && record.bytes >= kPossibleBytesMin;
    if (!shaped) continue;
    // A probe that was disturbed says less than what the links are shaped to.
    ASSIGN_OR_RETURN(const lab::NetworkSpec network, lab::ParseNetworkSpec(record.network));
    const double shaped_GBps =
        lab::TcpPayloadBytesPerS(network.LinkOf("worker").rate_bits_per_s) * 1e-9;
    const double link_GBps = std::max(record.link_GBps, shaped_GBps);
    const double least_us = record.bound_us * record.link_GBps / link_GBps;
    if (record.time_us * kPossibleSlack >= least_us) continue;
    return absl::DataLossError(absl::StrFormat(
        "impossible: %s took %.1f ms, and links of %.4f GB/s need %.1f ms: the time, the link or "
        "the traffic was measured wrongly",
        TextOf(record), record.time_us * 1e-3, link_GBps, least_us * 1e-3));
  }
  return absl::OkStatus();
}

}  // namespace crossover::bench
