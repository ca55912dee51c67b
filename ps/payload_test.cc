#include "ps/payload.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/half.h"

namespace crossover::ps {
namespace {

// The bytes of `values` cut at the given borders.
Payload Cut(std::span<const float> values, std::vector<size_t> borders) {
  const auto bytes = std::as_bytes(values);
  Payload payload;
  size_t start = 0;
  borders.push_back(bytes.size());
  for (const size_t border : borders) {
    payload.Append(bytes.subspan(start, border - start));
    start = border;
  }
  return payload;
}

TEST(Payload, IsTheSameHoweverItIsCut) {
  const std::vector<float> values = {1.5f, -2, 3e-20f, 4, 5};
  for (size_t a = 0; a <= 20; ++a) {
    for (size_t b = a; b <= 20; ++b) {
      const Payload payload = Cut(values, {a, b});
      ASSERT_EQ(payload.size_bytes(), 20u);
      std::vector<float> into(5, -1);
      payload.CopyTo(into);
      EXPECT_EQ(into, values) << a << " " << b;
      payload.AddTo(into);
      EXPECT_EQ(into, (std::vector<float>{3, -4, 6e-20f, 8, 10})) << a << " " << b;
    }
  }
}

TEST(Payload, HalvesAreSummedAsFloatsHoweverTheyAreCut) {
  constexpr size_t kCount = 1500;  // more than are widened at a time
  std::vector<float> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i % 64) * 0.25f - 7;
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    std::vector<std::byte> bytes(2 * kCount);
    if (type == DataType::kFloat16) {
      FloatsToFloat16s(values.data(), bytes.data(), kCount);
    } else {
      FloatsToBfloat16s(values.data(), bytes.data(), kCount);
    }
    for (const size_t border : {size_t{0}, size_t{1}, size_t{1000}, size_t{2047}, 2 * kCount}) {
      const std::span<const std::byte> all(bytes);
      Payload payload(all.first(border), type);
      payload.Append(all.subspan(border));
      std::vector<float> into(kCount, -1);
      payload.CopyTo(into);
      EXPECT_EQ(into, values) << border;
      payload.AddTo(into);
      for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(into[i], 2 * values[i]) << border << " " << i;
    }
  }
}

// 2049 of 1: as halves their sum would stay at 2048.
TEST(Payload, HalvesSumsAreNotRoundedToHalves) {
  const float one = 1;
  std::array<std::byte, 2> bytes;
  FloatsToFloat16s(&one, bytes.data(), 1);
  std::vector<float> sum(1);
  for (int i = 0; i < 2049; ++i) Payload(bytes, DataType::kFloat16).AddTo(sum);
  EXPECT_EQ(sum[0], 2049);
}

TEST(Payload, TakesPiecesSmallerThanAValue) {
  const std::vector<float> values = {1, 2};
  std::vector<float> into(2);
  Cut(values, {1, 2, 3, 5, 6, 7}).CopyTo(into);
  EXPECT_EQ(into, values);
}

TEST(Payload, SplitsIntoHeadAndTailAnywhere) {
  const std::vector<float> values = {1, 2, 3};
  const auto bytes = std::as_bytes(std::span(values));
  for (size_t border = 0; border <= 12; ++border) {
    for (size_t head = 0; head <= 12; ++head) {
      const Payload payload = Cut(values, {border});
      std::vector<std::byte> first(head);
      payload.CopyHead(first);
      const Payload tail = payload.Tail(head);
      ASSERT_EQ(tail.size_bytes(), 12 - head);
      std::vector<std::byte> rest(12 - head);
      tail.CopyHead(rest);
      first.insert(first.end(), rest.begin(), rest.end());
      EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin())) << border << " " << head;
    }
  }
}

TEST(Payload, MayBeEmpty) {
  const Payload payload;
  EXPECT_EQ(payload.size_bytes(), 0u);
  payload.CopyTo({});
  EXPECT_EQ(payload.Tail(0).size_bytes(), 0u);
}

TEST(PayloadDeathTest, ChecksSizes) {
  const std::vector<float> values = {1, 2};
  std::vector<float> into(3);
  EXPECT_DEATH(Cut(values, {}).CopyTo(into), "compares the sizes");
  EXPECT_DEATH(Cut(values, {}).AddTo(into), "compares the sizes");
  EXPECT_DEATH(Cut(values, {}).Tail(9), "compares the sizes");
}

}  // namespace
}  // namespace crossover::ps
