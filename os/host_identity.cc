#include "os/host_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/fnv1a.h"
#include "os/files.h"

namespace crossover::os {

std::string BootId() { return ReadFile("/proc/sys/kernel/random/boot_id").value_or(""); }

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::optional<uint64_t> HostIdentity() {
  const std::string boot = BootId();
  struct stat pids {};
  struct stat network {};
  if (boot.empty() || stat("/proc/self/ns/pid", &pids) != 0 ||
      stat("/proc/self/ns/net", &network) != 0) {
    return std::nullopt;
  }
  const std::string identity =
      absl::StrCat(boot, " ", pids.st_ino, " ", network.st_ino, " ", geteuid());
  return Fnv1a(std::as_bytes(std::span(identity)));
}

}  // namespace crossover::os
