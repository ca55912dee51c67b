#include "net/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace crossover::net {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// An address in the network's byte order; `family` tells its length.
struct Binary {
  int family = AF_UNSPEC;
  std::array<unsigned char, 16> bytes = {};

  bool operator==(const Binary&) const = default;
  bool IsWildcard() const { return bytes == std::array<unsigned char, 16>{}; }
  bool IsLinkLocal() const {
    return family == AF_INET ? bytes[0] == 169 && bytes[1] == 254
                             : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
  }
};

std::optional<Binary> ToBinary(const std::string& text) {
  for (const int family : {AF_INET, AF_INET6}) {
    Binary binary;
    binary.family = family;
    if (inet_pton(family, text.c_str(), binary.bytes.data()) == 1) return binary;
  }
  return std::nullopt;
}

absl::Status BadHostPort(std::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("address '", View(text), "' ", why,
                   ": write host:port, for example 10.0.0.2:4000 or [fd00::2]:4000"));
}

// "eth0 10.0.0.2, lo 127.0.0.1"
std::string List(std::span<const InterfaceAddress> available) {
  if (available.empty()) return "none";
  return absl::StrJoin(available, ", ", [](std::string* out, const InterfaceAddress& a) {
    absl::StrAppend(out, a.interface, " ", a.address);
  });
}

absl::StatusOr<std::vector<InterfaceAddress>> AddressesOfThisHost() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot list this host's network interfaces: ", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const int family = i->ifa_addr->sa_family;
    const void* binary = nullptr;
    if (family == AF_INET) {
      binary = &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr;
    } else if (family == AF_INET6) {
      binary = &reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
    } else {
      continue;
    }
    char text[INET6_ADDRSTRLEN];
    if (inet_ntop(family, binary, text, sizeof text) == nullptr) continue;
    addresses.push_back({i->ifa_name, text});
  }
  return addresses;
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
    const std::optional<Binary> binary = ToBinary(std::string(host));
    if (!binary || binary->family != AF_INET6) {
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

absl::StatusOr<std::string> ChooseAddress(std::string_view interface,
                                          std::span<const InterfaceAddress> available) {
  if (interface.empty()) return "127.0.0.1";
  const std::optional<Binary> wanted = ToBinary(std::string(interface));
  if (wanted && wanted->IsWildcard()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interface ", View(interface),
        " is the wildcard, which peers cannot connect to: name one of ", List(available)));
  }
  std::optional<std::string> ipv6;
  bool link_local = false;
  for (const InterfaceAddress& candidate : available) {
    const std::optional<Binary> binary = ToBinary(candidate.address);
    if (!binary) continue;
    if (wanted) {
      if (*wanted != *binary) continue;
      if (binary->family == AF_INET6 && binary->IsLinkLocal()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "interface ", View(interface), " is a link-local IPv6 address, which means nothing ",
            "to peers without a scope: name one of ", List(available)));
      }
      return candidate.address;
    }
    if (candidate.interface != interface) continue;
    if (binary->IsLinkLocal()) {
      link_local = true;
    } else if (binary->family == AF_INET) {
      return candidate.address;
    } else if (!ipv6) {
      ipv6 = candidate.address;
    }
  }
  if (ipv6) return *ipv6;
  return absl::NotFoundError(absl::StrCat(
      "interface ", View(interface),
      link_local ? " has only link-local addresses" : " is not on this host or is down",
      "; there is ", List(available)));
}

absl::StatusOr<std::string> LocalAddress(std::string_view interface) {
  absl::StatusOr<std::vector<InterfaceAddress>> available = AddressesOfThisHost();
  if (!available.ok()) return available.status();
  return ChooseAddress(interface, *available);
}

}  // namespace crossover::net
