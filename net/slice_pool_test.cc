#include "net/slice_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <utility>

#include "net/endpoint_test_support.h"

namespace crossover::net {
namespace {

constexpr size_t kBytes = 64 << 10;

std::span<const std::byte> BytesOf(const grpc::Slice& slice) {
  return std::as_bytes(std::span(slice.begin(), slice.size()));
}

TEST(SlicePoolTest, SlicesAreCopiesOfAnySizeThatFits) {
  const auto pool = SlicePool::Make(kBytes, 2);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{20'000}, kBytes}) {
    Bytes data = Pattern(size, 1);
    const grpc::Slice slice = pool->Copy(data);
    data.assign(size, std::byte{0});
    EXPECT_TRUE(SameBytes(BytesOf(slice), Pattern(size, 1))) << size;
  }
}

TEST(SlicePoolTest, ABufferThatCameBackIsUsedAgain) {
  const auto pool = SlicePool::Make(kBytes, 1);
  const void* first = nullptr;
  {
    const grpc::Slice slice = pool->Copy(Pattern(kBytes, 1));
    const grpc::Slice other = pool->Copy(Pattern(kBytes, 2));  // is not kept: one is, the last
    EXPECT_NE(slice.begin(), other.begin());
    first = other.begin();
  }
  EXPECT_EQ(pool->Copy(Pattern(kBytes, 3)).begin(), first);
}

TEST(SlicePoolTest, ASliceOutlivesThePool) {
  auto pool = SlicePool::Make(kBytes, 1);
  const grpc::Slice slice = pool->Copy(Pattern(kBytes, 1));
  pool.reset();
  EXPECT_TRUE(SameBytes(BytesOf(slice), Pattern(kBytes, 1)));
}

}  // namespace
}  // namespace crossover::net
