#include "net/local_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"

namespace crossover::net {
namespace {

std::string Contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Null and other families give nothing.
std::optional<IpAddress> ToIpAddress(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  IpAddress ip;
  if (address->sa_family == AF_INET) {
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return ip;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  ip.ipv6 = true;
  std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
  return ip;
}

int BitsOf(const sockaddr* mask) {
  const std::optional<IpAddress> ip = ToIpAddress(mask);
  if (!ip) return 0;
  int bits = 0;
  for (const unsigned char byte : ip->bytes) bits += std::popcount(byte);
  return bits;
}

HostInterface& FindOrAdd(const ifaddrs& entry, std::vector<HostInterface>& interfaces) {
  const auto found = std::find_if(
      interfaces.begin(), interfaces.end(),
      [&](const HostInterface& interface) { return interface.name == entry.ifa_name; });
  if (found != interfaces.end()) return *found;
  HostInterface& added = interfaces.emplace_back();
  added.name = entry.ifa_name;
  added.up = (entry.ifa_flags & IFF_UP) != 0;
  added.running = (entry.ifa_flags & IFF_RUNNING) != 0;
  added.loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
  added.point_to_point = (entry.ifa_flags & IFF_POINTOPOINT) != 0;
  return added;
}

// The columns of a line that are not empty.
std::vector<std::string> Columns(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

bool IsZero(const std::string& hexadecimal) {
  return !hexadecimal.empty() && hexadecimal.find_first_not_of('0') == std::string::npos;
}

}  // namespace

std::set<std::string> DefaultRouteInterfaces(std::string_view ipv4_routes,
                                             std::string_view ipv6_routes) {
  constexpr char kLoopback[] = "lo";  // holds IPv6's "unreachable" default routes
  std::set<std::string> names;
  // Iface Destination Gateway Flags RefCnt Use Metric Mask ...
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(ipv4_routes.data(), ipv4_routes.size()), '\n')) {
    const std::vector<std::string> columns = Columns(line);
    if (columns.size() < 8 || columns[0] == kLoopback) continue;
    if (IsZero(columns[1]) && IsZero(columns[7])) names.insert(columns[0]);
  }
  // destination, its bits, source, its bits, gateway, metric, counts, flags, interface
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(ipv6_routes.data(), ipv6_routes.size()), '\n')) {
    const std::vector<std::string> columns = Columns(line);
    if (columns.size() < 10 || columns[9] == kLoopback) continue;
    if (IsZero(columns[0]) && IsZero(columns[1])) names.insert(columns[9]);
  }
  return names;
}

absl::StatusOr<std::vector<HostInterface>> InterfacesOfThisHost() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot list this host's network interfaces: ", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  std::vector<HostInterface> interfaces;
  // Also lists every interface once as a link, and so those without an address.
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    HostInterface& interface = FindOrAdd(*entry, interfaces);
    const std::optional<IpAddress> address = ToIpAddress(entry->ifa_addr);
    if (address) interface.addresses.push_back({*address, BitsOf(entry->ifa_netmask)});
  }
  const std::set<std::string> defaults =
      DefaultRouteInterfaces(Contents("/proc/net/route"), Contents("/proc/net/ipv6_route"));
  for (HostInterface& interface : interfaces) {
    interface.default_route = defaults.contains(interface.name);
  }
  return interfaces;
}

absl::StatusOr<AddressChoice> LocalAddress(std::string_view selection) {
  ASSIGN_OR_RETURN(const std::vector<HostInterface> interfaces, InterfacesOfThisHost());
  return ChooseAddress(selection, interfaces);
}

}  // namespace crossover::net
