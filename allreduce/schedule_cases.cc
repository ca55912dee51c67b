#include "allreduce/schedule_cases.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/check.h"

namespace crossover::allreduce {
namespace {

std::vector<int64_t> LengthsOf(Kind kind, int world_size) {
  const int64_t n = world_size;
  if (kind == Kind::kBarrier) return {0};
  if (kind == Kind::kReduceScatter || kind == Kind::kAllGather) return {0, n, 2 * n, 13 * n};
  if (n > 32) return {0, 1, n - 1, n, n + 1, 97};
  const std::set<int64_t> lengths = {0, 1, n - 1, n, n + 1, 2 * n, 31, 97};
  return {lengths.begin(), lengths.end()};
}

std::vector<int> RootsOf(Kind kind, int world_size) {
  if (kind != Kind::kBroadcast) return {0};
  const std::set<int> roots = {0, world_size / 2, world_size - 1};
  return {roots.begin(), roots.end()};
}

std::vector<std::vector<int>> HostsOf(Algorithm algorithm, int world_size) {
  std::vector<std::vector<int>> layouts = {{}};
  if (algorithm != Algorithm::kHierarchical) return layouts;
  const auto lay = [&](auto host_of_rank) {
    std::vector<int> host_of;
    for (int rank = 0; rank < world_size; ++rank) host_of.push_back(host_of_rank(rank));
    layouts.push_back(host_of);
  };
  lay([](int) { return 7; });                                          // one host
  lay([](int rank) { return rank / 2; });                              // pairs
  lay([](int rank) { return rank % 2; });                              // dealt in turn
  lay([&](int rank) { return rank < (world_size + 1) / 2 ? 1 : 0; });  // two halves
  lay([](int rank) { return rank < 3 ? 9 : rank % 4 == 3 ? 2 : 5; });  // unequal
  return layouts;
}

// Of the `pieces` even pieces of `length`, the `index`-th, counted round.
int64_t Piece(int64_t length, int pieces, int index) {
  return CutEvenly(length, pieces)[((index % pieces) + pieces) % pieces].length;
}

int64_t CeilLog2Of(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

Traffic Ring(const ScheduleCase& c, int rank) {
  const int n = c.world_size;
  const int64_t m = c.length;
  const int64_t steps = n - 1;
  if (c.kind != Kind::kAllReduce) return {steps, m - m / n, m - m / n};
  return {2 * steps, 2 * m - Piece(m, n, rank) - Piece(m, n, rank + 1),
          2 * m - Piece(m, n, rank - 1) - Piece(m, n, rank)};
}

Traffic Direct(const ScheduleCase& c, int rank) {
  const int n = c.world_size;
  const int64_t m = c.length;
  if (c.kind != Kind::kAllReduce) return {1, m - m / n, m - m / n};
  const int64_t moved = m + (n - 2) * Piece(m, n, rank);
  return {2, moved, moved};
}

Traffic Exchange(const ScheduleCase& c) {
  const int64_t moved = (c.world_size - 1) * c.length;
  return {1, moved, moved};
}

// Adds the two steps of folding to `core`, the traffic of a world of the largest power of two.
Traffic Folded(const ScheduleCase& c, int rank, const Traffic& core) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(c.world_size)));
  if (power == c.world_size) return core;
  if (rank >= power) return {core.steps + 2, c.length, c.length};
  const int64_t extra = rank + power < c.world_size ? c.length : 0;
  return {core.steps + 2, core.sent + extra, core.received + extra};
}

Traffic RecursiveDoubling(const ScheduleCase& c, int rank) {
  const int64_t steps = std::bit_width(static_cast<unsigned>(c.world_size)) - 1;
  return Folded(c, rank, {steps, steps * c.length, steps * c.length});
}

Traffic HalvingDoubling(const ScheduleCase& c, int rank) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(c.world_size)));
  const int piece = rank % power;
  int64_t steps = 0;
  int64_t moved = c.length - Piece(c.length, power, piece);
  for (int block = 1; block < power; block *= 2, steps += 2) {
    const int first = piece / block * block;
    for (int i = first; i < first + block; ++i) moved += Piece(c.length, power, i);
  }
  return Folded(c, rank, {steps, moved, moved});
}

Traffic Tree(const ScheduleCase& c, int rank) {
  const int n = c.world_size;
  const int64_t depth = CeilLog2Of(n);
  const int v = (rank - c.root + n) % n;
  int64_t children = 0;
  for (int bit = 1; bit < n && (v == 0 || bit < (v & -v)); bit *= 2) children += v + bit < n;
  const int64_t parents = v == 0 ? 0 : 1;
  if (c.kind == Kind::kBroadcast) return {2 * depth, children * c.length, parents * c.length};
  const int64_t moved = (children + parents) * c.length;
  return {2 * depth, moved, moved};
}

Traffic Chain(const ScheduleCase& c, int rank) {
  const int position = (rank - c.root + c.world_size) % c.world_size;
  return {c.world_size, position == c.world_size - 1 ? 0 : c.length, position == 0 ? 0 : c.length};
}

Traffic Hierarchical(const ScheduleCase& c, int rank) {
  std::map<int, std::vector<int>> ranks_of;  // by host
  std::vector<int> hosts;                    // by first rank
  for (int r = 0; r < c.world_size; ++r) {
    const int host = c.host_of.empty() ? r : c.host_of[r];
    if (ranks_of[host].empty()) hosts.push_back(host);
    ranks_of[host].push_back(r);
  }
  int owners = c.world_size;
  for (const auto& [host, ranks] : ranks_of) {
    owners = std::min(owners, static_cast<int>(ranks.size()));
  }
  const int ours = c.host_of.empty() ? rank : c.host_of[rank];
  const int h = static_cast<int>(std::ranges::find(hosts, ours) - hosts.begin());
  const int host_count = static_cast<int>(hosts.size());
  const std::vector<int>& mates = ranks_of[ours];
  const int local = static_cast<int>(std::ranges::find(mates, rank) - mates.begin());
  const int64_t steps = 2 * static_cast<int64_t>(hosts.size());
  if (local >= owners) return {steps, c.length, c.length};
  const int64_t piece = Piece(c.length, owners, local);
  const int64_t within = c.length - piece + static_cast<int64_t>(mates.size() - 1) * piece;
  const auto share = [&](int host) { return Piece(piece, host_count, host); };
  if (host_count == 1) return {steps, within, within};
  return {steps, within + 2 * piece - share(h) - share(h + 1),
          within + 2 * piece - share(h - 1) - share(h)};
}

}  // namespace

std::string Describe(const ScheduleCase& c) {
  std::string text = absl::StrCat(NameOf(c.kind), " ", NameOf(c.algorithm), ", N=", c.world_size,
                                  ", root ", c.root);
  if (!c.host_of.empty()) absl::StrAppend(&text, ", hosts ", absl::StrJoin(c.host_of, " "));
  return absl::StrCat(text, ", ", c.length, " values");
}

Place PlaceOf(const ScheduleCase& c, int rank) {
  return {.rank = rank, .world_size = c.world_size, .root = c.root, .host_of = c.host_of};
}

std::vector<Schedule> SchedulesOf(const ScheduleCase& c) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < c.world_size; ++rank) {
    schedules.push_back(MakeSchedule(c.kind, c.algorithm, PlaceOf(c, rank), c.length));
  }
  return schedules;
}

std::vector<ScheduleCase> CasesOf(int world_size) {
  std::vector<ScheduleCase> cases;
  for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                          Kind::kBroadcast, Kind::kBarrier}) {
    for (const Algorithm algorithm : AlgorithmsOf(kind)) {
      for (const int root : RootsOf(kind, world_size)) {
        for (const std::vector<int>& host_of : HostsOf(algorithm, world_size)) {
          for (const int64_t length : LengthsOf(kind, world_size)) {
            cases.push_back({kind, algorithm, world_size, root, host_of, length});
          }
        }
      }
    }
  }
  return cases;
}

Traffic CountOf(const Schedule& schedule) {
  Traffic traffic{.steps = static_cast<int64_t>(schedule.size())};
  for (const Step& step : schedule) {
    for (const Transfer& send : step.sends) traffic.sent += send.segment.length;
    for (const Transfer& receive : step.receives) traffic.received += receive.segment.length;
  }
  return traffic;
}

Traffic ClosedFormOf(const ScheduleCase& c, int rank) {
  if (c.world_size == 1) return {};
  switch (c.algorithm) {
    case Algorithm::kRing:
      return Ring(c, rank);
    case Algorithm::kHalvingDoubling:
      return HalvingDoubling(c, rank);
    case Algorithm::kRecursiveDoubling:
      return RecursiveDoubling(c, rank);
    case Algorithm::kTree:
      return Tree(c, rank);
    case Algorithm::kDirect:
      return Direct(c, rank);
    case Algorithm::kHierarchical:
      return Hierarchical(c, rank);
    case Algorithm::kChain:
      return Chain(c, rank);
    case Algorithm::kExchange:
      return Exchange(c);
    case Algorithm::kDissemination:
      return {CeilLog2Of(c.world_size), 0, 0};
  }
  CROSSOVER_CHECK(false, "an algorithm of the list");
  return {};
}

}  // namespace crossover::allreduce
