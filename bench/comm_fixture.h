// comm_test as a process, for its tests.
#ifndef CROSSOVER_BENCH_COMM_FIXTURE_H_
#define CROSSOVER_BENCH_COMM_FIXTURE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/comm/record.h"
#include "bench/shared/program_fixture.h"
#include "experiments/launch/child_process.h"

namespace crossover::bench {

class CommTest : public ProgramTest {
 protected:
  CommTest() : ProgramTest("bench/comm_test") {}

  // Of a file that --json has written; none (a failure of the test) if it cannot be read.
  std::vector<Record> Lines(const std::string& path) const;
  // The rank that the test has started, once it has; 0 (a failure of the test) if it does not.
  pid_t RankOf(const experiments::ChildProcess& test, int rank);
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_FIXTURE_H_
