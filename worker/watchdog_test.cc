#include "worker/watchdog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/clock.h"

namespace crossover::worker {
namespace {

// Far beyond what any test waits for: it would fail by its time limit.
constexpr double kHour = 3600;

// Stays until the watchdog ends the process; the code says that it did not.
[[noreturn]] void Hang() {
  SystemClock().SleepNs(int64_t{30'000'000'000});
  _exit(99);
}

TEST(WatchdogDeathTest, EndsAProcessThatHangsAndSaysWhy) {
  EXPECT_EXIT(
      {
        Watchdog watchdog;
        watchdog.Arm(0.01, "worker 3: server 1 was lost");
        Hang();
      },
      testing::ExitedWithCode(1),
      "worker 3: server 1 was lost \\(and this process did not come to an orderly end\\)");
}

TEST(WatchdogDeathTest, OnlyTheFirstLossCounts) {
  EXPECT_EXIT(
      {
        Watchdog watchdog;
        watchdog.Arm(0.05, "the first");
        watchdog.Arm(0, "the second");
        Hang();
      },
      testing::ExitedWithCode(1), "^the first");
}

TEST(WatchdogTest, DestructionDisarmsItAtOnce) {
  { const Watchdog never_armed; }
  Watchdog watchdog;
  watchdog.Arm(kHour, "never printed");
}

}  // namespace
}  // namespace crossover::worker
