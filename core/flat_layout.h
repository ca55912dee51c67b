// Where each parameter lies in the one flat fp32 buffer that holds them all (and
// in the gradients' buffer, which has the same layout). Parameters lie in
// reverse-forward order, the last layer first, because that is the order in
// which the backward pass finishes their gradients: a bucket is then one
// contiguous stretch and needs no gather copy.
//
// Plain values; offsets and lengths count fp32 values, not bytes.
#ifndef CROSSOVER_CORE_FLAT_LAYOUT_H_
#define CROSSOVER_CORE_FLAT_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace crossover {

struct ParameterInfo {
  std::string name;
  std::vector<int64_t> shape;  // forward-pass meaning; product == length
  int64_t offset = 0;
  int64_t length = 0;
};

struct FlatLayout {
  std::vector<ParameterInfo> parameters;  // by offset, without gaps
  int64_t length = 0;                     // sum of the parameters' lengths
};

// Appends a parameter at the end of the layout and returns its index.
int AppendParameter(FlatLayout& layout, std::string name, std::vector<int64_t> shape);

}  // namespace crossover

#endif  // CROSSOVER_CORE_FLAT_LAYOUT_H_
