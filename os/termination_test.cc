#include "os/termination.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <thread>

namespace crossover::os {
namespace {

// Signals go to this thread alone: the test framework's process is not ended.
TEST(Termination, CallsOnceForTheFirstSignalAlsoIfItCameBefore) {
  std::promise<int> told;
  int calls = 0;
  auto termination = std::make_unique<Termination>();
  EXPECT_EQ(termination->signal(), 0);
  kill(getpid(), SIGTERM);
  termination->OnSignal([&](int signal) {
    if (++calls == 1) told.set_value(signal);
  });
  EXPECT_EQ(told.get_future().get(), SIGTERM);
  kill(getpid(), SIGINT);
  // Until the thread has taken it; its end then orders what it did before this.
  for (sigset_t pending; sigpending(&pending) == 0 && sigismember(&pending, SIGINT) == 1;) {
    std::this_thread::yield();
  }
  EXPECT_EQ(termination->signal(), SIGTERM);
  termination.reset();
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
