#include "bench/shared/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Sizes, ListsAndRanges) {
  EXPECT_THAT(*ParseSizes("4K,1000,1G,0"), ElementsAre(4096, 1000, 1 << 30, 0));
  EXPECT_THAT(*ParseSizes("4K:100M:x16"), ElementsAre(4096, 65536, 1 << 20, 16 << 20, 100 << 20));
  EXPECT_THAT(*ParseSizes("4K:64K:x4"), ElementsAre(4096, 16384, 65536));
  EXPECT_THAT(*ParseSizes("1:1:x2,8"), ElementsAre(1, 8));
}

TEST(Sizes, TextIsReadBack) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{4096},
                             int64_t{100} << 20, int64_t{3} << 30, (int64_t{1} << 20) + 1}) {
    EXPECT_THAT(*ParseSizes(SizeText(size)), ElementsAre(size)) << SizeText(size);
  }
  EXPECT_EQ(SizesText({4096, 1 << 20, 7}), "4K,1M,7");
}

TEST(Sizes, RefusesWithWhatIsAllowed) {
  for (const char* wrong : {"", "4Q", "-1", "4K,", "4K:1K:x2", "4K:8K:2", "4K:8K:x1", "4K:8K",
                            "0:8K:x2", "4K,4096", "2048G"}) {
    const auto sizes = ParseSizes(wrong);
    ASSERT_FALSE(sizes.ok()) << wrong;
    EXPECT_THAT(std::string(sizes.status().message()), HasSubstr("4K:100M:x4")) << wrong;
  }
}

}  // namespace
}  // namespace crossover::bench
