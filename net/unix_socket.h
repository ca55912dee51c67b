// The Unix socket that a server listens on beside its TCP port, for the processes of its host: less
// work for the kernel than TCP over loopback. It is an abstract one, so it belongs to a network
// namespace (which is what the lab means by a host), leaves no file, and goes with its process. Its
// name is chosen at random and told through the roster, so where it is found it is that server's.
#ifndef CROSSOVER_NET_UNIX_SOCKET_H_
#define CROSSOVER_NET_UNIX_SOCKET_H_

#include <string>

#include "absl/status/status.h"

namespace crossover::net {

// A name that no other socket has, but for a chance of 2^-64.
std::string NewUnixSocketName();

// "", or a name as NewUnixSocketName gives them. Errors (InvalidArgument) quote it.
absl::Status CheckUnixSocketName(const std::string& name);

// As gRPC wants it.
std::string UnixSocketUri(const std::string& name);

// Whether somebody listens on it in this process's network namespace. Never blocks.
bool UnixSocketListens(const std::string& name);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_UNIX_SOCKET_H_
