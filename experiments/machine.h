// What the reports say of the place where a comparison ran, and the commands that tell it.
// Stateless, thread-safe.
#ifndef CROSSOVER_EXPERIMENTS_MACHINE_H_
#define CROSSOVER_EXPERIMENTS_MACHINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/results/result.h"

namespace crossover::experiments {

// This machine, as the kernel and the package manager describe it, and the commit
// of `source_tree` ("" if unknown). What cannot be found out stays empty. Blocks for
// a fraction of a second: it asks git and dpkg-query.
Environment DescribeMachine(const std::string& source_tree);

// The argument as a POSIX shell takes it: quoted where it must be.
std::string QuoteForShell(const std::string& argument);

// Standard output of a command without its last newline: lab::RunCommand's, with its limits.
absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_MACHINE_H_
