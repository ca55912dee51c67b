// Which fields of two jobs differ. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_DIFF_JOB_H_
#define CROSSOVER_EXPERIMENTS_REPORT_DIFF_JOB_H_

#include <string>
#include <vector>

#include "proto/job.pb.h"

namespace crossover::experiments {

struct FieldDifference {
  std::string path;  // "learning_rate.base"
  std::string a;     // as textproto; "unset" where it has no value of its own
  std::string b;
};

// In the order of the fields. Both jobs have all fields written out (WithDefaults). Lists are
// compared as wholes.
std::vector<FieldDifference> DiffJobs(const proto::Job& a, const proto::Job& b);

// "learning_rate.base: 0.2, then 0.1".
std::string Describe(const FieldDifference& difference);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_DIFF_JOB_H_
