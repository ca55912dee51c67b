// comm_test as a process, for its tests.
#ifndef CROSSOVER_BENCH_COMM_FIXTURE_H_
#define CROSSOVER_BENCH_COMM_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/comm/record.h"
#include "core/clock.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"

namespace crossover::bench {

class CommTest : public testing::Test {
 protected:
  static constexpr char kBinary[] = "bench/comm_test";  // as `bazel test` lays it out

  CommTest();

  // Its output goes to the log of that name.
  experiments::ChildProcess Start(const std::vector<std::string>& flags,
                                  const std::string& log = "log",
                                  const std::string& network_namespace = "");
  // The exit code; minus the signal that ended it; -1000 if half a minute did not.
  int Wait(experiments::ChildProcess& child);
  std::string Log(const std::string& log = "log") const;
  // Of a file that --json has written; none (a failure of the test) if it cannot be read.
  std::vector<Record> Lines(const std::string& path) const;

  // The rank that the test has started, once it has; 0 (a failure of the test) if it does not.
  pid_t RankOf(const experiments::ChildProcess& test, int rank);
  // True as soon as no such process exists; false after `seconds`.
  bool AreGone(const std::vector<pid_t>& pids, double seconds);

  experiments::SignalWaiter signals_;
  SystemClock clock_;
  std::string directory_;  // of this test alone
};

// The one of `pids` whose command line holds this word; 0 if there is none.
pid_t WithArgument(const std::vector<int>& pids, const std::string& word);
// Whether the process exists; a zombie does not count.
bool Lives(pid_t pid);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_FIXTURE_H_
