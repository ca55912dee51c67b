#include "net/reachability.h"

#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "net/address.h"
#include "net/ip_address.h"

namespace crossover::net {
namespace {

constexpr char kLoopback[] = "loopback";

// The host of "host:port" in one spelling for each, kLoopback for all of loopback's.
std::string HostOf(const std::string& address) {
  const absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  // A scope ("[fe80::1%eth0]:80") is no address for ParseHostPort; compare the text then.
  std::string host = parsed.ok() ? parsed->host : address.substr(0, address.rfind(':'));
  if (host == "localhost") return kLoopback;
  const std::optional<IpAddress> ip = ParseIpAddress(host);
  if (!ip) return host;
  return ip->IsLoopback() ? kLoopback : FormatIpAddress(*ip);
}

bool OnLoopback(const MemberAddresses& member) {
  return !member.data_address.empty() && HostOf(member.data_address) == kLoopback;
}

// Why `other` shows that the run has several hosts; "" if it does not.
std::string SignOfAnotherHost(const MemberAddresses& member, const MemberAddresses& other) {
  if (HostOf(other.peer) != HostOf(member.peer)) {
    return absl::StrCat(other.name, " joined from ", HostOf(other.peer));
  }
  if (!other.data_address.empty() && !OnLoopback(other)) {
    return absl::StrCat(other.name, " listens on ", other.data_address);
  }
  return "";
}

}  // namespace

absl::Status CheckAdvertised(const MemberAddresses& member) {
  const std::optional<IpAddress> ip = ParseIpAddress(HostOf(member.data_address));
  if (!ip || (!ip->IsUnroutable() && !ip->IsLinkLocal())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      member.name, " at ", member.peer, " listens on ", member.data_address,
      ", which its peers cannot connect to; fix: start it with --interface= and the name, the "
      "address or the CIDR of a network that they reach"));
}

absl::Status CheckReachable(std::span<const MemberAddresses> members) {
  for (const MemberAddresses& member : members) {
    if (!OnLoopback(member)) continue;
    for (const MemberAddresses& other : members) {
      const std::string sign = SignOfAnotherHost(member, other);
      if (sign.empty()) continue;
      const std::string own = HostOf(member.peer);
      return absl::FailedPreconditionError(absl::StrCat(
          member.name, " listens on ", member.data_address,
          ", which only its own host reaches, but ", sign, "; fix: start ", member.name,
          " with --interface=",
          own == kLoopback ? "NAME, an address or a CIDR that the other hosts reach"
                           : absl::StrCat(own, ", whence it joined, or with a name or CIDR")));
    }
  }
  return absl::OkStatus();
}

}  // namespace crossover::net
