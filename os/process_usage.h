// What the operating system knows of this process.
#ifndef CROSSOVER_OS_PROCESS_USAGE_H_
#define CROSSOVER_OS_PROCESS_USAGE_H_

#include "proto/report.pb.h"

namespace crossover::os {

// A report with host, pid, peak resident memory and CPU time filled in; call it at
// the process's end. Thread-safe.
proto::ProcessReport DescribeProcess();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_PROCESS_USAGE_H_
