// Lets one process of a run live on what is like another host: with wrong clocks, or without
// the right to read a data file. The launcher is given a script in place of the program, which
// becomes the program; for one rank in namespaces of its own. Needs root.
#ifndef CROSSOVER_TESTS_ODD_HOST_H_
#define CROSSOVER_TESTS_ODD_HOST_H_

#include <string>

namespace crossover::tests {

// Of a process with wrong clocks: CLOCK_MONOTONIC less everybody else's. Its time of day is
// wrong by hours, too; `date +%s` is the first line of its log.
inline constexpr double kMonotonicAheadS = 5 * 3600;

// Why this machine cannot let a process have such a host; "" if it can.
std::string WhyNoOddHost();

// Writes the script to `path`; it stands for `program`, and for this rank of it has ...
void WriteProgramWithWrongClocks(const std::string& program, int rank, const std::string& path);
// ... a file that it may not read.
void WriteProgramThatMayNotRead(const std::string& file, const std::string& program, int rank,
                                const std::string& path);

}  // namespace crossover::tests

#endif  // CROSSOVER_TESTS_ODD_HOST_H_
