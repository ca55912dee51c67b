#include "experiments/launch/signal_waiter.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace crossover::experiments {
namespace {

TEST(SignalWaiter, TellsTheSignalThatCameWhileNobodyWaited) {
  SignalWaiter signals;
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.Wait(5), SIGTERM);
  kill(getpid(), SIGINT);
  EXPECT_EQ(signals.Wait(5), SIGINT);
  EXPECT_EQ(signals.ended_by(), SIGINT);
}

TEST(SignalWaiter, GivesZeroWhenTheTimeIsOver) {
  SignalWaiter signals;
  EXPECT_EQ(signals.ended_by(), 0);
  EXPECT_EQ(signals.Wait(0), 0);
  EXPECT_EQ(signals.Wait(0.01), 0);
}

}  // namespace
}  // namespace crossover::experiments
