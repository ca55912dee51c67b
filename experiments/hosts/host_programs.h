// Programs on a host: copied where they are missing, the same bytes as the launcher's, and
// loadable there. Blocking.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_HOST_PROGRAMS_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_HOST_PROGRAMS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/hosts/host_connection.h"

namespace crossover::experiments {

// Puts the program at `path` into the agent's folder, unless it is there; returns its path on
// the host. Errors name the host: too little free space, a library that it lacks with the
// Debian package to install.
absl::StatusOr<std::string> PutProgram(HostConnection& host, const std::string& name,
                                       const std::string& path,
                                       const std::function<void(const std::string&)>& say);

// "libtorch.so.1.13" of the dynamic linker's line "libtorch.so.1.13 => not found", or of
// "...: version `GLIBC_2.38' not found (required by ...)" the quoted version.
std::string MissingName(absl::string_view line);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_HOST_PROGRAMS_H_
