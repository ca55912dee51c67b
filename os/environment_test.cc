#include "os/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace crossover::os {
namespace {

TEST(Environment, RelativePathsAreTakenFromWhereTheUserStood) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/user/jobs", 1);
  EXPECT_EQ(ResolveUserPath("a.textproto"), "/home/user/jobs/a.textproto");
  EXPECT_EQ(ResolveUserPath("../a.textproto"), "/home/user/a.textproto");
  EXPECT_EQ(ResolveUserPath("/etc/a.textproto"), "/etc/a.textproto");
  EXPECT_EQ(ResolveUserPath(""), "");
}

TEST(Environment, WithoutBazelRunPathsStayAsTheyAre) {
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(ResolveUserPath("a.textproto"), "a.textproto");
}

TEST(Environment, NamesTheBlasOverridesThatAreSet) {
  setenv("OPENBLAS_CORETYPE", "Zen", 1);
  unsetenv("OPENBLAS_L2_SIZE");
  EXPECT_EQ(BlasOverrides(), "OPENBLAS_CORETYPE=Zen");
  unsetenv("OPENBLAS_CORETYPE");
  EXPECT_EQ(BlasOverrides(), "");
}

}  // namespace
}  // namespace crossover::os
