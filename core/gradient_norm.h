// The norm of a gradient over all parameters, and clipping by it as PyTorch's clip_grad_norm_
// does. The sum of squares is exact, so the norm depends on the values alone: not on how they are
// cut over processes, nor on the order in which the pieces' sums come together. Pure; instances
// are not thread-safe.
#ifndef CROSSOVER_CORE_GRADIENT_NORM_H_
#define CROSSOVER_CORE_GRADIENT_NORM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace crossover {

// Of up to 2^40 values, whatever they are.
class SquareSum {
 public:
  static constexpr size_t kBytes = 96;

  SquareSum() = default;
  // As ToBytes wrote it.
  explicit SquareSum(std::span<const std::byte, kBytes> bytes);
  std::array<std::byte, kBytes> ToBytes() const;

  void Add(std::span<const float> values);
  void Add(const SquareSum& other);
  // The square root. NaN if a value is; else infinite if a value is.
  double Norm() const;

 private:
  // In units of the smallest positive fp32 value's square, 2^-298: the largest's has 554 bits, and
  // the rest hold the sum of as many as there may be.
  static constexpr size_t kWords = 10;

  void AddAt(size_t bit, uint64_t value);
  void AddWord(size_t word, uint64_t value);

  std::array<uint64_t, kWords> words_ = {};  // the lowest first
  uint64_t infinities_ = 0;
  uint64_t nans_ = 0;
};

// What a gradient of this norm is multiplied by: min(1, norm_max / (norm + 1e-6)); NaN if the
// norm is.
float ClipFactor(double norm_max, double norm);
// values[i] *= factor
void MultiplyBy(std::span<float> values, float factor);
// Both, of a whole gradient; with norm_max 0 it stays as it is.
void ClipToNorm(double norm_max, std::span<float> gradient);

}  // namespace crossover

#endif  // CROSSOVER_CORE_GRADIENT_NORM_H_
