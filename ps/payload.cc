#include "ps/payload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/check.h"
#include "core/half.h"
#include "core/reduce.h"

namespace crossover::ps {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values travel as the host's own, little-endian");

constexpr size_t kWidened = 1024;  // values at a time

// Calls f(first value's index, bytes of whole values) over all pieces; a value cut
// by a border is put together in a buffer of its own.
template <size_t kValueBytes, typename Function>
void ForEachStretch(std::span<const std::span<const std::byte>> pieces, Function f) {
  size_t index = 0;
  std::array<std::byte, kValueBytes> cut;
  size_t cut_bytes = 0;
  for (std::span<const std::byte> piece : pieces) {
    if (cut_bytes > 0) {
      const size_t taken_bytes = std::min(kValueBytes - cut_bytes, piece.size());
      std::copy_n(piece.begin(), taken_bytes, cut.begin() + cut_bytes);
      cut_bytes += taken_bytes;
      piece = piece.subspan(taken_bytes);
      if (cut_bytes < kValueBytes) continue;
      f(index++, std::span<const std::byte>(cut));
      cut_bytes = 0;
    }
    const size_t whole = piece.size() / kValueBytes;
    if (whole > 0) f(index, piece.first(whole * kValueBytes));
    index += whole;
    piece = piece.subspan(whole * kValueBytes);
    std::copy(piece.begin(), piece.end(), cut.begin());
    cut_bytes = piece.size();
  }
}

void Widen(DataType type, const std::byte* from, float* into, size_t count) {
  if (type == DataType::kFloat16) {
    Float16sToFloats(from, into, static_cast<int64_t>(count));
  } else {
    Bfloat16sToFloats(from, into, static_cast<int64_t>(count));
  }
}

}  // namespace

Payload::Payload(std::span<const std::byte> bytes, DataType type) : type_(type) { Append(bytes); }

void Payload::Append(std::span<const std::byte> piece) {
  if (piece.empty()) return;
  pieces_.push_back(piece);
  size_bytes_ += piece.size();
}

void Payload::CopyTo(std::span<float> into) const {
  CROSSOVER_CHECK(size_bytes_ == BytesOf(type_) * into.size(), "the caller compares the sizes");
  if (type_ == DataType::kFloat32) {
    ForEachStretch<4>(pieces_, [&](size_t index, std::span<const std::byte> bytes) {
      std::memcpy(into.data() + index, bytes.data(), bytes.size());
    });
  } else {
    ForEachStretch<2>(pieces_, [&](size_t index, std::span<const std::byte> bytes) {
      Widen(type_, bytes.data(), into.data() + index, bytes.size() / 2);
    });
  }
}

void Payload::AddTo(std::span<float> into) const {
  CROSSOVER_CHECK(size_bytes_ == BytesOf(type_) * into.size(), "the caller compares the sizes");
  if (type_ == DataType::kFloat32) {
    ForEachStretch<4>(pieces_, [&](size_t index, std::span<const std::byte> bytes) {
      AddBytesInto(into.subspan(index, bytes.size() / 4), bytes);
    });
    return;
  }
  std::array<float, kWidened> widened;
  ForEachStretch<2>(pieces_, [&](size_t index, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t count = std::min(bytes.size() / 2, kWidened);
      Widen(type_, bytes.data(), widened.data(), count);
      AddInto(into.subspan(index, count), std::span(widened).first(count));
      index += count;
      bytes = bytes.subspan(2 * count);
    }
  });
}

void Payload::CopyHead(std::span<std::byte> into) const {
  CROSSOVER_CHECK(into.size() <= size_bytes_, "the caller compares the sizes");
  for (std::span<const std::byte> piece : pieces_) {
    const size_t taken_bytes = std::min(into.size(), piece.size());
    std::copy_n(piece.begin(), taken_bytes, into.begin());
    into = into.subspan(taken_bytes);
    if (into.empty()) return;
  }
}

Payload Payload::Tail(size_t bytes, DataType type) const {
  CROSSOVER_CHECK(bytes <= size_bytes_, "the caller compares the sizes");
  Payload tail({}, type);
  for (std::span<const std::byte> piece : pieces_) {
    const size_t skipped_bytes = std::min(bytes, piece.size());
    bytes -= skipped_bytes;
    tail.Append(piece.subspan(skipped_bytes));
  }
  return tail;
}

}  // namespace crossover::ps
