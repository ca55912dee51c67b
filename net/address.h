// "host:port" texts. Pure; thread-safe; nothing here resolves names.
#ifndef CROSSOVER_NET_ADDRESS_H_
#define CROSSOVER_NET_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace crossover::net {

struct HostPort {
  std::string host;  // a name, an IPv4 address or an IPv6 address without brackets
  int port = 0;      // 0..65535
};
absl::StatusOr<HostPort> ParseHostPort(std::string_view text);
std::string FormatHostPort(const HostPort& address);  // IPv6 in brackets

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ADDRESS_H_
