#include "tests/lab_available.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lab/namespaces.h"
#include "lab/tap.h"
#include "os/unique_fd.h"

namespace crossover::tests {
namespace {

// ip is missing, or says in words that the kernel answered EPERM or EACCES.
bool IsObstacle(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsPermissionDenied(status) ||
         absl::StrContains(status.message(), std::strerror(EPERM)) ||
         absl::StrContains(status.message(), std::strerror(EACCES));
}

}  // namespace

std::string WhyNoLab() {
  if (geteuid() != 0) return "a network lab needs root";
  const os::UniqueFd tun(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  if (!tun.valid()) return absl::StrCat("cannot open /dev/net/tun: ", std::strerror(errno));
  const std::string name = lab::NamespaceName(getpid(), "available", "trial");
  const absl::Status added = lab::AddNamespace(name);
  if (!added.ok()) return IsObstacle(added) ? std::string(added.message()) : "";
  const absl::Status tap = lab::OpenTap(name, "eth0").status();
  lab::DeleteNamespace(name).IgnoreError();  // the next lab removes what is left
  return absl::IsPermissionDenied(tap) ? std::string(tap.message()) : "";
}

}  // namespace crossover::tests
