// Which of a host's addresses a process listens on and publishes: the one syntax of
// `--interface`, in every binary. Pure; thread-safe. net/local_address.h applies it
// to this host.
//
//   unset               loopback
//   eth0                an interface's name
//   10.0.0.1            an address of this host
//   10.0.0.0/8          a CIDR; bits beyond the prefix do not count
//   eth0,10.0.0.0/8     a list of these: the first that this host has
//   ^docker0,lo         all but these; what this host lacks is left out already
//
// Of several addresses that fit, the first in this order is taken: with a carrier, then
// IPv4, then of the default route's interface, then not of a tunnel, then as the kernel
// lists them. Loopback is taken only where it is named itself. Addresses that peers
// cannot connect to (of an interface that is down, link-local, 0.0.0.0/8, multicast,
// 240.0.0.0/4) are never taken: IPv6 link-local ones need a scope, which means nothing
// to a peer, and IPv4 ones are chosen anew at each start.
#ifndef CROSSOVER_NET_INTERFACE_CHOICE_H_
#define CROSSOVER_NET_INTERFACE_CHOICE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "net/ip_address.h"

namespace crossover::net {

struct InterfaceAddress {
  IpAddress address;
  int prefix_bits = 0;
};

struct HostInterface {
  std::string name;
  bool up = true;       // the administrator's wish
  bool running = true;  // it has a carrier
  bool loopback = false;
  bool point_to_point = false;
  bool default_route = false;  // a default route leaves by it
  std::vector<InterfaceAddress> addresses;
};

struct AddressChoice {
  std::string address;    // to bind and to publish; IPv6 without brackets
  std::string interface;  // that it belongs to
  std::string reason;     // "the only address in 10.0.0.0/8"
};
// "10.0.0.1 (eth0): the only address in 10.0.0.0/8"
std::string DescribeChoice(const AddressChoice& choice);

// Errors say what was found and the fix: INVALID_ARGUMENT for a wrong syntax or an
// address that no peer can use, NOT_FOUND where this host has nothing that fits.
absl::StatusOr<AddressChoice> ChooseAddress(std::string_view selection,
                                            std::span<const HostInterface> interfaces);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_INTERFACE_CHOICE_H_
