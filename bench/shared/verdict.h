// What --target says of a benchmark's figures: rows by name, and whether each of their cells has
// been reached. Pure.
#ifndef CROSSOVER_BENCH_SHARED_VERDICT_H_
#define CROSSOVER_BENCH_SHARED_VERDICT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace crossover::bench {

struct Verdict {
  std::string what;  // "tcp, 2 ranks, 16M"
  bool reached = false;
  std::string found;  // "1.75 (1.70 to 1.81) times gloo ring_chunked, to reach 1.3"
};

// Lines "reached  WHAT: FOUND" under the target's name.
std::string VerdictText(const std::string& name, const std::string& says,
                        const std::vector<Verdict>& verdicts);
// Adds what was not reached to a list for the error that ends the program.
void NoteMissed(const std::string& name, const std::vector<Verdict>& verdicts, std::string& missed);
absl::Status MissedError(const std::string& missed);  // OK if nothing was

// Those of `all` that a list between commas names, in its order; all of them for "all". Errors
// list the names. A Target has a name.
template <typename Target>
absl::StatusOr<std::vector<Target>> TargetsNamed(const std::string& names,
                                                 const std::vector<Target>& all) {
  if (names == "all") return all;
  std::vector<Target> chosen;
  for (const absl::string_view name : absl::StrSplit(names, ',')) {
    const size_t before = chosen.size();
    for (const Target& target : all) {
      if (target.name == name) chosen.push_back(target);
    }
    if (chosen.size() > before) continue;
    std::vector<std::string> known = {"all"};
    for (const Target& target : all) known.push_back(target.name);
    return absl::InvalidArgumentError(
        absl::StrCat("--target=", names, ": no ", name, "; allowed: ", absl::StrJoin(known, ", ")));
  }
  return chosen;
}

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_VERDICT_H_
