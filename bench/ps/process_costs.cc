#include "bench/ps/process_costs.h"

#include <time.h>

#include <cerrno>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"
#include "os/files.h"

namespace crossover::bench {

absl::StatusOr<double> CpuSecondsOf(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  int error = clock_getcpuclockid(pid, &clock);
  if (error == 0 && clock_gettime(clock, &time) != 0) error = errno;
  if (error != 0) {
    return absl::ErrnoToStatus(error, absl::StrCat("cannot read the CPU time of process ", pid));
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

absl::StatusOr<double> PeakBytesOf(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/status");
  ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    double kibibytes = 0;
    if (words.size() >= 2 && words[0] == "VmHWM:" && absl::SimpleAtod(words[1], &kibibytes)) {
      return kibibytes * 1024;
    }
  }
  return absl::NotFoundError(absl::StrCat(path, ": no line VmHWM"));
}

}  // namespace crossover::bench
