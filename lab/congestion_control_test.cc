#include "lab/congestion_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::lab {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CheckCongestionControlTest, AsksTheKernel) {
  EXPECT_TRUE(CheckCongestionControl("reno").ok());  // every kernel has it
  EXPECT_THAT(std::string(CheckCongestionControl("no_such").message()),
              AllOf(HasSubstr("congestion control 'no_such' (this kernel has: "), HasSubstr("reno"),
                    HasSubstr("fix: name one of them")));
}

}  // namespace
}  // namespace crossover::lab
