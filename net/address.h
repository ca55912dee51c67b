// "host:port" texts and the addresses of this host's interfaces. Thread-safe;
// nothing here resolves names or blocks.
#ifndef CROSSOVER_NET_ADDRESS_H_
#define CROSSOVER_NET_ADDRESS_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::net {

struct HostPort {
  std::string host;  // a name, an IPv4 address or an IPv6 address without brackets
  int port = 0;      // 0..65535
};
absl::StatusOr<HostPort> ParseHostPort(std::string_view text);
std::string FormatHostPort(const HostPort& address);  // IPv6 in brackets

// The address to bind and publish: `interface` is an address of this host, the
// name of one of its interfaces ("eth0"), or "" for loopback. An unknown name is an
// error that lists what there is; the wildcard 0.0.0.0 is refused (peers could not
// use it).
absl::StatusOr<std::string> LocalAddress(std::string_view interface);

// One address of one interface that is up.
struct InterfaceAddress {
  std::string interface;
  std::string address;  // IPv4 or IPv6 without scope
};
// LocalAddress's choice among `available`. Of an interface's addresses IPv4 goes
// before IPv6, and link-local ones are left out: they reach no other network, and
// IPv6 ones need a scope that means nothing to a peer.
absl::StatusOr<std::string> ChooseAddress(std::string_view interface,
                                          std::span<const InterfaceAddress> available);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ADDRESS_H_
