#include "bench/comm/targets.h"

#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/comm/limits.h"
#include "bench/shared/sizes.h"
#include "bench/shared/text_table.h"

namespace crossover::bench {
namespace {

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;

// Of the series that a verdict is about.
struct Cell {
  std::string transport;
  std::string buffers = "private";
  int64_t ranks = 0;
  int64_t bytes = 0;
  std::string network = "";
};

std::string TextOf(const Cell& cell) {
  return absl::StrCat(cell.network, cell.network.empty() ? "" : ", ", cell.transport,
                      cell.buffers == "shared" ? ", shared buffers" : "", ", ", cell.ranks,
                      " ranks, ", SizeText(cell.bytes));
}

const Series* OurSeries(const std::vector<Series>& all, const Cell& cell) {
  for (const Series& series : all) {
    if (series.library == "crossover" && series.op == "all_reduce" &&
        std::tie(series.network, series.transport, series.buffers, series.ranks, series.bytes) ==
            std::tie(cell.network, cell.transport, cell.buffers, cell.ranks, cell.bytes)) {
      return &series;
    }
  }
  return nullptr;
}

// The series of a limit, by name, on the cell's network.
const Series* LimitSeries(const std::vector<Series>& all, const Cell& cell,
                          const std::string& algorithm) {
  for (const Series& series : all) {
    if (series.library == kLimitLibrary && series.algorithm == algorithm &&
        series.network == cell.network) {
      return &series;
    }
  }
  return nullptr;
}

Verdict NotMeasured(const Cell& cell) { return {TextOf(cell), false, "not measured"}; }

// How many times as fast we are as the best peer (of one library, if it is named) in this cell, and
// what `reached` says of it.
Verdict AgainstPeer(const std::vector<Series>& all, const Cell& cell, const std::string& library,
                    const std::string& to_reach,
                    const std::function<bool(const PairedRatio&)>& reached) {
  const Series* ours = OurSeries(all, cell);
  const Series* peer = ours == nullptr ? nullptr : BestPeer(all, *ours, library);
  const std::optional<PairedRatio> ratio =
      peer == nullptr ? std::nullopt : SpeedRatio(*ours, *peer);
  if (!ratio) return NotMeasured(cell);
  return {TextOf(cell), reached(*ratio),
          absl::StrCat(RatioText(*ratio), " times as fast as ", peer->library, " ", peer->algorithm,
                       "; to reach: ", to_reach)};
}

Verdict AtLeast(const std::vector<Series>& all, const Cell& cell, const std::string& library,
                double times) {
  return AgainstPeer(all, cell, library, absl::StrCat(times),
                     [times](const PairedRatio& ratio) { return ratio.median >= times; });
}

// Not slower: the paired interval does not lie below 1.
Verdict NotSlower(const std::vector<Series>& all, const Cell& cell, const std::string& library) {
  return AgainstPeer(all, cell, library, "an interval not below 1",
                     [](const PairedRatio& ratio) { return ratio.spread.high >= 1; });
}

TestPlan PlanOf(Transport transport, bool shared_buffers, std::vector<int64_t> sizes) {
  TestPlan plan;
  plan.transport = transport;
  plan.shared_buffers = shared_buffers;
  plan.sizes = std::move(sizes);
  plan.out_of_place = false;
  return plan;
}

std::vector<TargetRun> RunsOf(const std::vector<TestPlan>& plans, const std::vector<int>& ranks,
                              const std::string& peers) {
  std::vector<TargetRun> runs;
  for (const int count : ranks) runs.push_back({plans, count, "", peers});
  return runs;
}

std::vector<Cell> CellsOf(const std::string& transport, const std::string& buffers,
                          const std::vector<int64_t>& ranks, const std::vector<int64_t>& sizes) {
  std::vector<Cell> cells;
  for (const int64_t count : ranks) {
    for (const int64_t size : sizes) cells.push_back({transport, buffers, count, size, ""});
  }
  return cells;
}

std::vector<Verdict> EachAtLeast(const std::vector<Series>& all, const std::vector<Cell>& cells,
                                 double times) {
  std::vector<Verdict> verdicts;
  for (const Cell& cell : cells) verdicts.push_back(AtLeast(all, cell, "", times));
  return verdicts;
}

// Our busbw over the rate of one memcpy thread, by round.
Verdict AgainstMemcpy(const std::vector<Series>& all, const Cell& cell) {
  const Series* ours = OurSeries(all, cell);
  const Series* copies = LimitSeries(all, cell, kMemcpy);
  if (ours == nullptr || copies == nullptr) return NotMeasured(cell);
  const double ratio = ours->Busbw() / copies->Busbw();
  return {TextOf(cell), ratio >= 1,
          absl::StrCat(Figure(ratio), " of a memcpy thread's ", Figure(copies->Busbw()),
                       " GB/s (medians); to reach: 1")};
}

Target TcpBandwidth() {
  const std::vector<int64_t> sizes = {16 * kMiB, 100 * kMiB};
  return {"tcp_bandwidth", "TCP on loopback: 1.3 times the best of Gloo and Open MPI",
          RunsOf({PlanOf(Transport::kTcp, false, sizes)}, {2, 4}, "true"),
          [sizes](const std::vector<Series>& all) {
            return EachAtLeast(all, CellsOf("tcp", "private", {2, 4}, sizes), 1.3);
          }};
}

Target SharedBandwidth() {
  const std::vector<int64_t> sizes = {16 * kMiB, 100 * kMiB};
  return {"shared_bandwidth",
          "shared memory, our allocator: 4 times Open MPI's best; at N=2 and 100 MiB a memcpy "
          "thread's rate",
          RunsOf({PlanOf(Transport::kSharedMemory, true, sizes)}, {2, 4}, "openmpi"),
          [sizes](const std::vector<Series>& all) {
            std::vector<Verdict> verdicts =
                EachAtLeast(all, CellsOf("shared_memory", "shared", {2, 4}, sizes), 4);
            verdicts.push_back(AgainstMemcpy(all, {"shared_memory", "shared", 2, 100 * kMiB, ""}));
            return verdicts;
          }};
}

Target PrivateBandwidth() {
  const std::vector<int64_t> sizes = {16 * kMiB, 100 * kMiB};
  return {"private_bandwidth", "shared memory, private buffers: 2 times Open MPI's best",
          RunsOf({PlanOf(Transport::kSharedMemory, false, sizes)}, {2, 4}, "openmpi"),
          [sizes](const std::vector<Series>& all) {
            return EachAtLeast(all, CellsOf("shared_memory", "private", {2, 4}, sizes), 2);
          }};
}

Target TcpLatency() {
  return {"tcp_latency", "4 KiB, TCP on loopback: not slower than Open MPI's best, 20 times Gloo",
          RunsOf({PlanOf(Transport::kTcp, false, {4 * kKiB})}, {2, 4}, "true"),
          [](const std::vector<Series>& all) {
            std::vector<Verdict> verdicts;
            for (const Cell& cell : CellsOf("tcp", "private", {2, 4}, {4 * kKiB})) {
              verdicts.push_back(NotSlower(all, cell, "openmpi"));
              verdicts.push_back(AtLeast(all, cell, "gloo", 20));
            }
            return verdicts;
          }};
}

Target SharedLatency() {
  return {"shared_latency", "4 KiB, shared memory: not slower than Open MPI's best",
          RunsOf({PlanOf(Transport::kSharedMemory, true, {4 * kKiB})}, {2, 4}, "openmpi"),
          [](const std::vector<Series>& all) {
            std::vector<Verdict> verdicts;
            for (const Cell& cell : CellsOf("shared_memory", "shared", {2, 4}, {4 * kKiB})) {
              verdicts.push_back(NotSlower(all, cell, "openmpi"));
            }
            return verdicts;
          }};
}

// busbw over the rate that the lab's probe found with all nodes at once.
Verdict OfTheProbe(const std::vector<Series>& all, const Cell& cell, double share) {
  const Series* ours = OurSeries(all, cell);
  const Series* probe = LimitSeries(all, cell, kLabProbe);
  if (ours == nullptr || probe == nullptr) return NotMeasured(cell);
  const double found = ours->Busbw() / probe->Busbw();
  return {TextOf(cell), found >= share,
          absl::StrCat(Figure(100 * found), "% of the probed ", Figure(probe->Busbw()),
                       " GB/s; to reach: ", Figure(100 * share), "%")};
}

Target LabBandwidth(const std::string& name, const std::string& network, double share) {
  TargetRun run = {{PlanOf(Transport::kTcp, false, {64 * kMiB})}, 4, network, "true"};
  run.plans.front().budget_s = 5;
  return {name,
          absl::StrCat("lab ", network, ", N=4, 64 MiB: ", Figure(100 * share),
                       "% of the all-nodes rate probed in the run"),
          {run},
          [share, network](const std::vector<Series>& all) {
            const Cell cell = {"tcp", "private", 4, 64 * kMiB, network};
            return std::vector<Verdict>{OfTheProbe(all, cell, share)};
          }};
}

Target LabLatency() {
  const Cell cell = {"tcp", "private", 4, 4 * kKiB, "1gbit,0.5ms"};
  return {"lab_latency",
          "lab 1 Gbit/s with 0.5 ms, N=4, 4 KiB: 1.2 ms",
          {{{PlanOf(Transport::kTcp, false, {4 * kKiB})}, 4, cell.network, "true"}},
          [cell](const std::vector<Series>& all) {
            const Series* ours = OurSeries(all, cell);
            if (ours == nullptr) return std::vector<Verdict>{NotMeasured(cell)};
            return std::vector<Verdict>{
                {TextOf(cell), ours->MedianTimeUs() <= 1200,
                 absl::StrCat(Figure(ours->MedianTimeUs()), " us; to reach: 1200")}};
          }};
}

// The geometric mean of the ratios to the best peer, and no interval wholly below .9.
std::vector<Verdict> JudgeManyRanks(const std::vector<Series>& all, const std::string& transport,
                                    const std::string& buffers, const std::vector<int64_t>& sizes) {
  std::vector<Verdict> verdicts;
  double log_sum = 0;
  bool whole = true;
  for (const Cell& cell : CellsOf(transport, buffers, {8}, sizes)) {
    verdicts.push_back(
        AgainstPeer(all, cell, "", "an interval not below 0.9", [&](const PairedRatio& ratio) {
          log_sum += std::log(ratio.median);
          return ratio.spread.high >= 0.9;
        }));
    whole = whole && verdicts.back().found != "not measured";
  }
  const double mean = std::exp(log_sum / static_cast<double>(sizes.size()));
  verdicts.push_back({absl::StrCat(transport, ", 8 ranks, geometric mean over sizes"),
                      whole && mean >= 1,
                      absl::StrCat(whole ? Figure(mean) : "not measured", "; to reach: 1")});
  return verdicts;
}

Target ManyRanks(const std::string& name, Transport transport, const std::string& peers) {
  const std::vector<int64_t> sizes = {4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, 100 * kMiB};
  const bool shared = transport == Transport::kSharedMemory;
  return {name,
          absl::StrCat("N=8, ", NameOf(transport),
                       ": geometric mean over sizes at least the best peer's, no size's interval "
                       "wholly below 0.9"),
          RunsOf({PlanOf(transport, shared, sizes)}, {8}, peers),
          [sizes, transport, shared](const std::vector<Series>& all) {
            return JudgeManyRanks(all, NameOf(transport), shared ? "shared" : "private", sizes);
          }};
}

Target CpuTime() {
  Target target = TcpBandwidth();
  const std::vector<Cell> cells =
      CellsOf("tcp", "private", {2, 4}, target.runs.front().plans.front().sizes);
  target.name = "cpu";
  target.says = "CPU time of a byte over TCP: at most that of Gloo's fastest";
  for (TargetRun& run : target.runs) run.peers = "gloo";
  target.judge = [cells](const std::vector<Series>& all) {
    std::vector<Verdict> verdicts;
    for (const Cell& cell : cells) {
      const Series* ours = OurSeries(all, cell);
      const Series* gloo = ours == nullptr ? nullptr : BestPeer(all, *ours, "gloo");
      const std::optional<PairedRatio> ratio =
          gloo == nullptr ? std::nullopt : CpuRatio(*gloo, *ours);
      verdicts.push_back(!ratio ? NotMeasured(cell)
                                : Verdict{TextOf(cell), ratio->median <= 1,
                                          absl::StrCat(RatioText(*ratio), " of gloo ",
                                                       gloo->algorithm, "'s; to reach: 1")});
    }
    return verdicts;
  };
  return target;
}

}  // namespace

std::vector<Target> AllTargets() {
  return {TcpBandwidth(),
          SharedBandwidth(),
          PrivateBandwidth(),
          TcpLatency(),
          SharedLatency(),
          LabBandwidth("lab_bandwidth", "1gbit", 0.98),
          LabBandwidth("lab_bandwidth_delay", "1gbit,0.5ms", 0.97),
          LabLatency(),
          ManyRanks("many_ranks_tcp", Transport::kTcp, "true"),
          ManyRanks("many_ranks_shared", Transport::kSharedMemory, "openmpi"),
          CpuTime()};
}

}  // namespace crossover::bench
