#include "core/histogram.h"

#include <algorithm>

#include "core/check.h"

namespace crossover {

Histogram::Histogram(int slots) {
  CROSSOVER_CHECK(slots > 0, "a histogram has a slot");
  counts_.resize(slots);
}

void Histogram::Add(int64_t value, int64_t count) {
  CROSSOVER_CHECK(value >= 0 && count >= 0, "values and counts are not negative");
  if (count == 0) return;
  counts_[std::min<int64_t>(value, static_cast<int64_t>(counts_.size()) - 1)] += count;
  total_ += count;
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(count);
}

void Histogram::Merge(const Histogram& other) {
  CROSSOVER_CHECK(counts_.size() == other.counts_.size(), "merged histograms have equal slots");
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

double Histogram::mean() const { return total_ == 0 ? 0 : sum_ / static_cast<double>(total_); }

std::vector<int64_t> Histogram::counts() const {
  const int64_t last = std::min<int64_t>(max_, static_cast<int64_t>(counts_.size()) - 1);
  return {counts_.begin(), counts_.begin() + last + 1};
}

}  // namespace crossover
