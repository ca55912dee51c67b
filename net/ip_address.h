// IPv4 and IPv6 addresses and prefixes as values. Pure; thread-safe.
#ifndef CROSSOVER_NET_IP_ADDRESS_H_
#define CROSSOVER_NET_IP_ADDRESS_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace crossover::net {

// In the network's byte order; an IPv4 address takes the first four bytes.
struct IpAddress {
  bool ipv6 = false;
  std::array<unsigned char, 16> bytes = {};

  bool operator==(const IpAddress&) const = default;
  int bits() const { return ipv6 ? 128 : 32; }

  bool IsWildcard() const;   // 0.0.0.0, ::
  bool IsLoopback() const;   // 127.0.0.0/8, ::1
  bool IsLinkLocal() const;  // 169.254.0.0/16, fe80::/10
  bool IsMulticast() const;  // 224.0.0.0/4, ff00::/8
  // What no peer can connect to: 0.0.0.0/8, ::, multicast, 240.0.0.0/4 (the broadcast
  // address with it).
  bool IsUnroutable() const;
};

// Without brackets, port or scope. An IPv4 address inside an IPv6 one
// (::ffff:10.0.0.2, as sockets of both families show it) is given as IPv4.
std::optional<IpAddress> ParseIpAddress(std::string_view text);
std::string FormatIpAddress(const IpAddress& address);

// All addresses whose first `bits` bits are those of `address`.
struct IpPrefix {
  IpAddress address;  // further bits are zero
  int bits = 0;       // 0 .. address.bits()

  bool Contains(const IpAddress& other) const;
};
IpPrefix MakePrefix(const IpAddress& address, int bits);  // clears the further bits
std::string FormatPrefix(const IpPrefix& prefix);         // "10.0.0.0/8"

}  // namespace crossover::net

#endif  // CROSSOVER_NET_IP_ADDRESS_H_
