// A status for the tests of how one is shown. For tests alone.
#ifndef CROSSOVER_PS_STATUS_FIXTURE_H_
#define CROSSOVER_PS_STATUS_FIXTURE_H_

#include "proto/status.pb.h"

namespace crossover::ps {

// Of a bounded-stale run of three workers: one at work, one held, one that has not come.
proto::ServerStatus SomeStatus();

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STATUS_FIXTURE_H_
