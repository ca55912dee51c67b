#include "lab/tap.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"
#include "lab/namespaces.h"
#include "lab/segmentation.h"

namespace crossover::lab {

absl::StatusOr<os::UniqueFd> OpenTap(const std::string& network_namespace,
                                     const std::string& device) {
  CROSSOVER_CHECK(device.size() < IFNAMSIZ, "the lab's device names are short");
  ASSIGN_OR_RETURN(const ScopedNamespace inside, ScopedNamespace::Enter(network_namespace));
  os::UniqueFd tap(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tap.valid()) {
    return absl::ErrnoToStatus(
        errno,
        "cannot open /dev/net/tun, which the user-space switch needs (in a container: "
        "--device=/dev/net/tun --cap-add=NET_ADMIN)");
  }
  ifreq request = {};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  std::memcpy(request.ifr_name, device.data(), device.size());
  int header_bytes = kVirtioHeaderBytes;
  if (ioctl(tap.get(), TUNSETIFF, &request) != 0 ||
      ioctl(tap.get(), TUNSETVNETHDRSZ, &header_bytes) != 0 ||
      ioctl(tap.get(), TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the TAP device ", device,
                                                   " in the namespace ", network_namespace));
  }
  return tap;
}

}  // namespace crossover::lab
