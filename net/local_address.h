// The addresses of this host, and the one that a process uses. Thread-safe; asks the
// kernel, resolves no names.
#ifndef CROSSOVER_NET_LOCAL_ADDRESS_H_
#define CROSSOVER_NET_LOCAL_ADDRESS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "net/interface_choice.h"

namespace crossover::net {

// What `--interface=selection` means on this host (net/interface_choice.h).
absl::StatusOr<AddressChoice> LocalAddress(std::string_view selection);

// In the kernel's order, those without an address too.
absl::StatusOr<std::vector<HostInterface>> InterfacesOfThisHost();

// The interfaces of default routes in the texts of /proc/net/route and
// /proc/net/ipv6_route. Lines of another form are passed over.
std::set<std::string> DefaultRouteInterfaces(std::string_view ipv4_routes,
                                             std::string_view ipv6_routes);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_LOCAL_ADDRESS_H_
