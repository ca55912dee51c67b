// Counts of small non-negative integers (staleness, lead); the last slot also
// holds everything above. Not thread-safe.
#ifndef CROSSOVER_CORE_HISTOGRAM_H_
#define CROSSOVER_CORE_HISTOGRAM_H_

#include <cstdint>
#include <vector>

namespace crossover {

class Histogram {
 public:
  // slots > 0.
  explicit Histogram(int slots = 64);
  // value >= 0 and count >= 0.
  void Add(int64_t value, int64_t count = 1);
  // Slot by slot; sizes must agree.
  void Merge(const Histogram& other);
  int64_t total() const { return total_; }
  int64_t max() const { return max_; }  // largest value added, -1 if none
  double mean() const;                  // of the values themselves, 0 if none
  // Without trailing zeros.
  std::vector<int64_t> counts() const;

 private:
  std::vector<int64_t> counts_;
  int64_t total_ = 0;
  int64_t max_ = -1;
  double sum_ = 0;
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_HISTOGRAM_H_
