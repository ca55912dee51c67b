// The time of day, for the names and dates of results. Durations are measured on
// core/clock.h.
#ifndef CROSSOVER_OS_WALL_TIME_H_
#define CROSSOVER_OS_WALL_TIME_H_

#include <cstdint>
#include <string>

namespace crossover::os {

std::string IsoTime();     // now, in UTC: "2026-03-01T14:05:09Z"
std::string FolderTime();  // now, local, sorts in order: "20260301-150509"
int64_t WallTimeNs();      // since 1970, to set the clocks of two hosts side by side

}  // namespace crossover::os

#endif  // CROSSOVER_OS_WALL_TIME_H_
