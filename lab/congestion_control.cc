#include "lab/congestion_control.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "lab/namespaces.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace crossover::lab {
namespace {

constexpr const char* kSetting = "ipv4/tcp_congestion_control";
constexpr const char* kAllowed = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
constexpr const char* kAvailable = "/proc/sys/net/ipv4/tcp_available_congestion_control";

absl::Status WriteAllowed(const std::string& names) {
  const os::UniqueFd file(open(kAllowed, O_WRONLY | O_CLOEXEC));
  if (!file.valid() ||
      write(file.get(), names.data(), names.size()) != static_cast<ssize_t>(names.size())) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", names, "' to ", kAllowed));
  }
  return absl::OkStatus();
}

absl::Status SetWhileAllowed(const std::string& network_namespace, const std::string& name) {
  ASSIGN_OR_RETURN(std::string before, os::ReadFile(kAllowed));
  absl::StripAsciiWhitespace(&before);
  RETURN_IF_ERROR(WriteAllowed(absl::StrCat(before, " ", name)));
  absl::Status set = SetNetworkSetting(network_namespace, kSetting, name);
  set.Update(WriteAllowed(before));
  return set;
}

absl::Status WithWhatThereIs(const absl::Status& error, const std::string& name) {
  std::string available = os::ReadFile(kAvailable).value_or("unknown");
  absl::StripAsciiWhitespace(&available);
  return Annotate(
      error, absl::StrCat("congestion control '", name, "' (this kernel has: ", available, "): "));
}

}  // namespace

absl::Status SetCongestionControl(const std::string& network_namespace, const std::string& name) {
  absl::Status set = SetNetworkSetting(network_namespace, kSetting, name);
  // Another lab may end its own moment right before the choice: once more.
  for (int attempt = 0; attempt < 3 && absl::IsPermissionDenied(set); ++attempt) {
    set = SetWhileAllowed(network_namespace, name);
  }
  return set.ok() ? set : WithWhatThereIs(set, name);
}

absl::Status CheckCongestionControl(const std::string& name) {
  const os::UniqueFd socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return absl::ErrnoToStatus(errno, "cannot make a socket");
  if (setsockopt(socket_fd.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                 static_cast<socklen_t>(name.size())) == 0 ||
      errno == EPERM) {  // there, and root's: so is the lab
    return absl::OkStatus();
  }
  return WithWhatThereIs(
      absl::InvalidArgumentError(
          geteuid() == 0 ? "it is none of them, nor a module; fix: name one of them"
                         : "it is none of them; fix: name one of them, or ask as root, for whom "
                           "the kernel loads modules"),
      name);
}

}  // namespace crossover::lab
