#include "experiments/hosts/host_programs.h"

#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

// As the dynamic linker prints them.
TEST(MissingName, IsTheLibrarysOrTheVersions) {
  EXPECT_EQ(MissingName("libtorch.so.1.13 => not found"), "libtorch.so.1.13");
  EXPECT_EQ(MissingName("\tlibgrpc++.so.1.51 => not found"), "libgrpc++.so.1.51");
  EXPECT_EQ(MissingName("/p/worker: /lib/libc.so.6: version `GLIBC_2.38' not found (required by "
                        "/p/worker)"),
            "GLIBC_2.38");
  EXPECT_EQ(MissingName("odd: not found"), "odd: not found");
}

}  // namespace
}  // namespace crossover::experiments
