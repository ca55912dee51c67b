#include "bench/ps/push_pull_targets.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "bench/shared/text_table.h"

namespace crossover::bench {
namespace {

constexpr int64_t kMiB = 1 << 20;

using Series = PushPullSeries;

struct Cell {
  std::string network;  // "": loopback
  std::string placement = "dedicated";
  int64_t workers = 0;
  int64_t servers = 0;
  int64_t bytes = 0;
  std::string strategy = "ps_sync";
};

std::string TextOf(const Cell& cell) {
  PushPullRecord record;
  record.network = cell.network;
  record.placement = cell.placement;
  record.workers = cell.workers;
  record.servers = cell.servers;
  record.bytes = cell.bytes;
  record.strategy = cell.strategy;
  return TextOf(record);
}

const Series* Find(const std::vector<Series>& all, const Cell& cell) {
  for (const Series& series : all) {
    const PushPullRecord& first = series.first;
    if (std::tie(first.network, first.placement, first.workers, first.servers, first.bytes,
                 first.strategy) == std::tie(cell.network, cell.placement, cell.workers,
                                             cell.servers, cell.bytes, cell.strategy)) {
      return &series;
    }
  }
  return nullptr;
}

Verdict NotMeasured(const Cell& cell) { return {TextOf(cell), false, "not measured"}; }

Verdict AtMost(const std::vector<Series>& all, const Cell& cell, double over_bound) {
  const Series* series = Find(all, cell);
  const std::optional<PairedRatio> found = series == nullptr ? std::nullopt : series->OverBound();
  if (!found) return NotMeasured(cell);
  return {TextOf(cell), found->median <= over_bound,
          absl::StrCat(RatioText(*found), " of the bound; to reach: ", Figure(over_bound))};
}

Verdict TimesTheRing(const std::vector<Series>& all, const Cell& cell, double at_least) {
  const Series* series = Find(all, cell);
  const std::optional<PairedRatio> found =
      series == nullptr ? std::nullopt : series->RingOverOurs();
  if (!found) return NotMeasured(cell);
  return {
      TextOf(cell), found->median >= at_least,
      absl::StrCat(RatioText(*found), " times as fast as our ring; to reach: ", Figure(at_least))};
}

// The flags of a row: where, between whom, and how long.
PushPullFlags FlagsOf(const Cell& cell, const std::string& sizes, double budget_s) {
  PushPullFlags flags;
  flags.plan.strategy = cell.strategy;
  flags.plan.workers = cell.workers;
  flags.plan.servers = cell.servers;
  flags.plan.budget_s = budget_s;
  flags.network = cell.network;
  flags.placement = cell.placement;
  flags.sizes = sizes;
  return flags;
}

Cell WithBytes(Cell cell, int64_t bytes) {
  cell.bytes = bytes;
  return cell;
}

// Besides the rate that is the target, one that a machine of two cores holds with eight nodes.
PushPullTarget LabDedicated(const std::string& name, const std::string& network) {
  const Cell cell = {.network = network, .workers = 4, .servers = 4};
  PushPullFlags flags = FlagsOf(cell, "16M,64M", 3);
  flags.beside = "ring";
  return {name,
          absl::StrCat("lab ", network,
                       ", N=4, S=4 dedicated, 16 and 64 MiB: 1.05 of M/B, 1.4 times our ring"),
          {flags},
          [cell](const std::vector<Series>& all) {
            std::vector<Verdict> verdicts;
            for (const int64_t bytes : {16 * kMiB, 64 * kMiB}) {
              verdicts.push_back(AtMost(all, WithBytes(cell, bytes), 1.05));
              verdicts.push_back(TimesTheRing(all, WithBytes(cell, bytes), 1.4));
            }
            return verdicts;
          }};
}

// The same bound for both sizes. Colocated servers are measured at a rate that two cores hold too.
PushPullTarget LabBound(const std::string& name, const std::string& says, const Cell& cell) {
  return {name, says, {FlagsOf(cell, "16M,64M", 3)}, [cell](const std::vector<Series>& all) {
            return std::vector<Verdict>{AtMost(all, WithBytes(cell, 16 * kMiB), 1.02),
                                        AtMost(all, WithBytes(cell, 64 * kMiB), 1.02)};
          }};
}

PushPullTarget LabDelay(const std::string& name, const std::string& network) {
  const Cell cell = {.network = network, .workers = 4, .servers = 4};
  return {name,
          absl::StrCat("lab ", network,
                       " one way, N=4, S=4 dedicated, 16 and 64 MiB: 1.10 of M/B and 10 ms"),
          {FlagsOf(cell, "16M,64M", 3)},
          [cell](const std::vector<Series>& all) {
            std::vector<Verdict> verdicts;
            for (const int64_t bytes : {16 * kMiB, 64 * kMiB}) {
              const Series* series = Find(all, WithBytes(cell, bytes));
              if (series == nullptr) {
                verdicts.push_back(NotMeasured(WithBytes(cell, bytes)));
                continue;
              }
              const double allowed_us = 1.10 * series->BoundUs() + 10e3;
              verdicts.push_back({TextOf(WithBytes(cell, bytes)), series->TimeUs() <= allowed_us,
                                  absl::StrCat(Figure(series->TimeUs() * 1e-3),
                                               " ms; to reach: ", Figure(allowed_us * 1e-3))});
            }
            return verdicts;
          }};
}

PushPullTarget Light() {
  const Cell cell = {.network = "200mbit", .workers = 8, .servers = 8, .bytes = 16 * kMiB};
  PushPullFlags flags = FlagsOf(cell, "16M", 3);
  flags.beside = "ring";
  return {"light_200mbit",
          "lab 200 Mbit/s, N=8, S=8 dedicated, 16 MiB: 1.6 times our ring",
          {flags},
          [cell](const std::vector<Series>& all) {
            return std::vector<Verdict>{TimesTheRing(all, cell, 1.6)};
          }};
}

PushPullTarget Loopback() {
  const Cell cell = {.network = "", .workers = 1, .servers = 1, .bytes = 64 * kMiB};
  return {
      "loopback",
      "loopback, one server, one worker, 64 MiB: 0.5 of raw streams both ways",
      {FlagsOf(cell, "64M", 3)},
      [cell](const std::vector<Series>& all) {
        const Series* series = Find(all, cell);
        if (series == nullptr) return std::vector<Verdict>{NotMeasured(cell)};
        const double share = series->AlgbwGBps() / series->LinkGBps();
        return std::vector<Verdict>{{TextOf(cell), share >= 0.5,
                                     absl::StrCat(Figure(share), " of ", Figure(series->LinkGBps()),
                                                  " GB/s; to reach: 0.5 (push and pull together ",
                                                  Figure(2 * series->AlgbwGBps()), " GB/s)")}};
      }};
}

PushPullTarget Cpu() {
  const Cell cell = {.network = "", .workers = 4, .servers = 4, .bytes = 16 * kMiB};
  constexpr double kMostSPerGB = 1.5;  // a bare gRPC server that only sums takes 1.0 here
  return {"cpu",
          "loopback, N=4, S=4, 16 MiB: a server's CPU time for a GB aggregated, 1.5 s",
          {FlagsOf(cell, "16M", 3)},
          [cell](const std::vector<Series>& all) {
            const Series* series = Find(all, cell);
            if (series == nullptr) return std::vector<Verdict>{NotMeasured(cell)};
            return std::vector<Verdict>{{TextOf(cell), series->ServerCpuSPerGB() <= kMostSPerGB,
                                         absl::StrCat(Figure(series->ServerCpuSPerGB()),
                                                      " s/GB; to reach: ", kMostSPerGB)}};
          }};
}

// What a server may hold of M bytes over S servers: its shard a few times over, the parts that its
// workers have under way, both ways, and what a process has anyway.
double MemoryBoundMB(const PushPullRecord& record) {
  constexpr double kProcessMB = 40;
  constexpr double kStreamMB = 0.5;  // of a worker's connection
  constexpr double kShards = 4;
  const auto workers = static_cast<double>(record.workers);
  const auto shard = static_cast<double>(record.bytes) / static_cast<double>(record.servers);
  const auto window = static_cast<double>(record.part_bytes * record.credits);
  return kProcessMB + kStreamMB * workers + (kShards * shard + 2 * workers * window) * 1e-6;
}

Verdict MovesAsMuch(const std::vector<Series>& all, const Cell& few_cell, const Cell& cell) {
  const Series* few = Find(all, few_cell);
  const Series* many = Find(all, cell);
  if (few == nullptr || many == nullptr) return NotMeasured(cell);
  const double rate = many->TotalGBps() / few->TotalGBps();
  return {absl::StrCat(TextOf(cell), ", all together"), rate >= 0.9,
          absl::StrCat(Figure(rate), " of 8 workers' ", Figure(few->TotalGBps()),
                       " GB/s; to reach: 0.9")};
}

Verdict IsFair(const std::vector<Series>& all, const Cell& cell) {
  const Series* series = Find(all, cell);
  if (series == nullptr) return NotMeasured(cell);
  return {absl::StrCat(TextOf(cell), ", fairness"), series->Fairness() >= 0.95,
          absl::StrCat(Figure(series->Fairness()), "; to reach: 0.95")};
}

Verdict StaysBounded(const std::vector<Series>& all, const Cell& cell) {
  const Series* series = Find(all, cell);
  if (series == nullptr) return NotMeasured(cell);
  const double bound_MB = MemoryBoundMB(series->first);
  return {absl::StrCat(TextOf(cell), ", a server's memory"), series->ServerPeakMB() <= bound_MB,
          absl::StrCat(Figure(series->ServerPeakMB()), " MB; at most: ", Figure(bound_MB))};
}

// Steps keep workers that wait for each other alike; fairness is a question where none waits.
PushPullTarget ManyWorkers() {
  const Cell few = {.network = "200mbit", .workers = 8, .servers = 2, .bytes = kMiB};
  Cell many = few;
  many.workers = 64;
  Cell free = many;
  free.strategy = "ps_async";
  PushPullFlags many_flags = FlagsOf(many, "1M", 6);
  PushPullFlags free_flags = FlagsOf(free, "1M", 6);
  many_flags.workers_per_node = free_flags.workers_per_node = 8;
  return {"many_workers",
          "lab 200 Mbit/s, 1 MiB, 2 dedicated servers: 64 workers (8 a node) move in all what 8 "
          "do, within 10%; where none waits fairness is 0.95; memory is bounded",
          {FlagsOf(few, "1M", 3), many_flags, free_flags},
          [few, many, free](const std::vector<Series>& all) {
            return std::vector<Verdict>{MovesAsMuch(all, few, many), IsFair(all, free),
                                        StaysBounded(all, many), StaysBounded(all, free)};
          }};
}

}  // namespace

std::vector<PushPullTarget> AllPushPullTargets() {
  return {LabDedicated("lab_dedicated", "1gbit"),
          LabDedicated("lab_dedicated_300mbit", "300mbit"),
          LabBound("lab_single",
                   "lab 1 Gbit/s, N=4, one dedicated server, 16 and 64 MiB: 1.02 of N M/B",
                   {.network = "1gbit", .workers = 4, .servers = 1}),
          LabBound("lab_colocated",
                   "lab 1 Gbit/s, N=4, S=4 colocated, 16 and 64 MiB: 1.02 of 2(N-1)/N M/B",
                   {.network = "1gbit", .placement = "colocated", .workers = 4, .servers = 4}),
          LabBound("lab_colocated_500mbit",
                   "lab 500 Mbit/s, N=4, S=4 colocated, 16 and 64 MiB: 1.02 of 2(N-1)/N M/B",
                   {.network = "500mbit", .placement = "colocated", .workers = 4, .servers = 4}),
          LabDelay("lab_delay", "1gbit,0.5ms"),
          LabDelay("lab_delay_300mbit", "300mbit,0.5ms"),
          Light(),
          Loopback(),
          Cpu(),
          ManyWorkers()};
}

}  // namespace crossover::bench
