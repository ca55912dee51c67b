#include "os/termination.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

namespace crossover::os {
namespace {

// Signals go to this thread alone: the test framework's process is not ended.
TEST(Termination, CallsOnceForTheFirstSignalAlsoIfItCameBefore) {
  Termination termination;
  EXPECT_EQ(termination.signal(), 0);
  kill(getpid(), SIGTERM);
  std::promise<int> told;
  int calls = 0;
  termination.OnSignal([&](int signal) {
    ++calls;
    told.set_value(signal);
  });
  EXPECT_EQ(told.get_future().get(), SIGTERM);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(termination.signal(), SIGTERM);
  EXPECT_EQ(calls, 1);
}

TEST(Termination, EndsWithoutASignal) {
  Termination termination;
  termination.OnSignal([](int) { FAIL(); });
}

TEST(Termination, ExitCodesAreTheShells) {
  EXPECT_EQ(ExitCodeOf(SIGTERM), 143);
  EXPECT_EQ(ExitCodeOf(SIGINT), 130);
}

}  // namespace
}  // namespace crossover::os
