// One cell of the failure matrix: who is hit, by what, when, and what is expected of it.
#ifndef CROSSOVER_TESTS_FAILURE_CASE_H_
#define CROSSOVER_TESTS_FAILURE_CASE_H_

#include <string>
#include <vector>

#include "proto/job.pb.h"

namespace crossover::tests {

enum class Victim { kWorker, kServer, kCompare };

enum class Blow {
  kKilled,        // SIGKILL
  kStoppedLong,   // SIGSTOP for longer than the deadline
  kStoppedShort,  // SIGSTOP, and SIGCONT before the deadline: the run goes on
  kTerminated,    // SIGTERM
  kLinkCut,       // nothing passes from or to its node any more
  kLinkLossy,     // 5% of its node's frames are lost: the run goes on, slower
  // Of its host, and so from its start on:
  kWrongClock,      // hours off: the run goes on, with the same figures
  kDataUnreadable,  // a data file that the other hosts can read
};

enum class Moment { kBeforeJoin, kInAStep, kAtTheEnd };

struct FailureCase {
  Victim victim = Victim::kWorker;
  Blow blow = Blow::kKilled;
  Moment moment = Moment::kInAStep;
  proto::Strategy::Name strategy = proto::Strategy::ps_sync;
  int rank = 1;  // of a worker; servers have rank 0
};

inline constexpr int kMatrixWorkers = 2;
inline constexpr int kMatrixServers = 1;
inline constexpr double kLossS = 4;
inline constexpr double kJoinS = 12;

// "worker_killed_in_a_step": unique among the matrix's cells of one strategy and rank.
std::string NameOf(const FailureCase& cell);
// Whether the run is to end well in spite of it.
bool GoesOn(const FailureCase& cell);
// From the blow until every process has ended; 0 where the run goes on.
double EndsWithinS(const FailureCase& cell);
bool NeedsLab(const FailureCase& cell);
bool NeedsOddHost(const FailureCase& cell);

// {worker, server, compare} x every blow to a process x every moment under ps_sync, those
// under other strategies whose waiting differs, and those of a host.
std::vector<FailureCase> FailureMatrix();

// The data file that cannot be read where the blow is that.
std::string UnreadableFile(const FailureCase& cell);

// A job in which the cell's moment is easily met.
proto::Job JobFor(const FailureCase& cell);

}  // namespace crossover::tests

#endif  // CROSSOVER_TESTS_FAILURE_CASE_H_
