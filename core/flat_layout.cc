#include "core/flat_layout.h"

#include <utility>

#include "core/check.h"

namespace crossover {

int AppendParameter(FlatLayout& layout, std::string name, std::vector<int64_t> shape) {
  int64_t length = 1;
  for (const int64_t extent : shape) {
    CROSSOVER_CHECK(extent >= 0, "a shape's extents are not negative");
    length *= extent;
  }
  layout.parameters.push_back({std::move(name), std::move(shape), layout.length, length});
  layout.length += length;
  return static_cast<int>(layout.parameters.size()) - 1;
}

}  // namespace crossover
