#include "net/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "net/one_line.h"
#include "os/unique_fd.h"

namespace crossover::net {
namespace {

constexpr char kPrefix[] = "crossover-";
constexpr size_t kDigits = 16;

}  // namespace

std::string NewUnixSocketName() {
  std::random_device random;
  const uint64_t number = (uint64_t{random()} << 32) | random();
  return absl::StrCat(kPrefix, absl::Hex(number, absl::kZeroPad16));
}

absl::Status CheckUnixSocketName(const std::string& name) {
  const bool is_one =
      absl::StartsWith(name, kPrefix) && name.size() == sizeof(kPrefix) - 1 + kDigits &&
      std::all_of(name.end() - kDigits, name.end(), [](char c) { return absl::ascii_isxdigit(c); });
  if (name.empty() || is_one) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", OneLine(name, sizeof(sockaddr_un::sun_path)),
                                                 "' is no name of a Unix socket of a server's"));
}

std::string UnixSocketUri(const std::string& name) { return absl::StrCat("unix-abstract:", name); }

bool UnixSocketListens(const std::string& name) {
  sockaddr_un address{};
  if (name.empty() || name.size() >= sizeof(address.sun_path)) return false;
  const os::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return false;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

}  // namespace crossover::net
