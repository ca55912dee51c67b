// The nearest of a list of names to a mistyped one.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "core/job.h"

namespace crossover {
namespace {

// Longer names than this are not typing errors, and would cost time to compare.
constexpr size_t kNameBytesMax = 100;

// Case and the choice of '-' or '_' are no difference worth counting.
std::string Folded(std::string_view name) {
  std::string folded(name);
  absl::AsciiStrToLower(&folded);
  std::replace(folded.begin(), folded.end(), '-', '_');
  return folded;
}

// Optimal string alignment distance: insertions, deletions, substitutions and
// swaps of neighbours.
int EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> distance(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) distance[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) distance[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitution = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      int best = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, distance[i - 2][j - 2] + 1);
      }
      distance[i][j] = best;
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kNameBytesMax) return "";
  const std::string folded = Folded(name);
  // One slip in every three letters, but never a wholly different name.
  const int near_max = std::min<int>((folded.size() + 2) / 3, folded.size() - 1);
  int nearest_distance = near_max + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kNameBytesMax) continue;
    const std::string other = Folded(candidate);
    int distance = EditDistance(folded, other);
    // "momentum" for "optimizer.momentum".
    const size_t dot = other.rfind('.');
    if (dot != std::string::npos && folded.find('.') == std::string::npos) {
      distance = std::min(distance, EditDistance(folded, std::string_view(other).substr(dot + 1)));
    }
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace crossover
