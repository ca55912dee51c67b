#include "net/one_line.h"

#include "gtest/gtest.h"

namespace crossover::net {
namespace {

TEST(OneLineTest, KeepsPrintableAsciiUpToTheBound) {
  EXPECT_EQ(OneLine(""), "");
  EXPECT_EQ(OneLine("a plain ~ line"), "a plain ~ line");
  EXPECT_EQ(OneLine("a\nb\x7f\xc3", 3), "a?b");
  EXPECT_EQ(OneLine("\x7f\xc3\x1b[2J", 10), "???[2J");
  EXPECT_EQ(OneLine(std::string(kLineBytesMax + 1, 'x')).size(), kLineBytesMax);
}

}  // namespace
}  // namespace crossover::net
