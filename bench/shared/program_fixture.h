// A benchmark as a process, for its tests.
#ifndef CROSSOVER_BENCH_SHARED_PROGRAM_FIXTURE_H_
#define CROSSOVER_BENCH_SHARED_PROGRAM_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "core/clock.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"

namespace crossover::bench {

class ProgramTest : public testing::Test {
 protected:
  // `binary` as `bazel test` lays it out: "bench/comm_test".
  explicit ProgramTest(std::string binary);

  // Its output goes to the log of that name.
  experiments::ChildProcess Start(const std::vector<std::string>& flags,
                                  const std::string& log = "log",
                                  const std::string& network_namespace = "");
  // The exit code; minus the signal that ended it; -1000 if half a minute did not.
  int Wait(experiments::ChildProcess& child);
  std::string Log(const std::string& log = "log") const;

  // The process that the program has started with these words on its command line, once it has; 0
  // (a failure of the test) if it does not.
  pid_t ProcessWith(const experiments::ChildProcess& program,
                    const std::vector<std::string>& words);
  // True as soon as no such process exists; false after `seconds`.
  bool AreGone(const std::vector<pid_t>& pids, double seconds);

  const std::string binary_;
  experiments::SignalWaiter signals_;
  SystemClock clock_;
  std::string directory_;  // of this test alone
};

// The one of `pids` whose command line holds these words; 0 if there is none. A word that begins
// with / stands for any that ends with it.
pid_t WithArguments(const std::vector<int>& pids, const std::vector<std::string>& words);
// Whether the process exists; a zombie does not count.
bool Lives(pid_t pid);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_PROGRAM_FIXTURE_H_
