#include "net/address.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "net/ip_address.h"

namespace crossover::net {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status BadHostPort(std::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("address '", View(text), "' ", why,
                   ": write host:port, for example 10.0.0.2:4000 or [fd00::2]:4000"));
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(std::string_view text) {
  std::string_view host;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t bracket = text.find("]:");
    if (bracket == std::string_view::npos) return BadHostPort(text, "has no ]: before its port");
    host = text.substr(1, bracket - 1);
    port = text.substr(bracket + 2);
    if (host.find(':') == std::string_view::npos || !ParseIpAddress(host)) {
      return BadHostPort(text, "holds no IPv6 address between its brackets");
    }
  } else {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) return BadHostPort(text, "has no port");
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) {
      return BadHostPort(text, "has several colons (IPv6 needs brackets)");
    }
  }
  if (host.empty()) return BadHostPort(text, "has no host");
  for (const char c : host) {
    if (c <= ' ' || c > '~' || c == '/') return BadHostPort(text, "has a host that is no name");
  }
  int number = 0;
  const bool digits = !port.empty() && port.find_first_not_of("0123456789") == port.npos;
  if (!digits || !absl::SimpleAtoi(View(port), &number) || number > 65535) {
    return BadHostPort(text, "has a port that is not a number from 0 to 65535");
  }
  return HostPort{std::string(host), number};
}

std::string FormatHostPort(const HostPort& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return ipv6 ? absl::StrCat("[", address.host, "]:", address.port)
              : absl::StrCat(address.host, ":", address.port);
}

}  // namespace crossover::net
