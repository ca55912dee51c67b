// Tells whether two processes can share memory: whether they run under one kernel, in one process
// namespace and as one user. Two network namespaces count as two hosts, since whoever makes them
// (the network lab, containers) means hosts by them.
#ifndef CROSSOVER_OS_HOST_IDENTITY_H_
#define CROSSOVER_OS_HOST_IDENTITY_H_

#include <cstdint>
#include <optional>

namespace crossover::os {

// A number that processes of one host have in common and, but for a chance of 2^-64, no others
// have; nullopt where the system does not tell. Blocks as long as reading /proc.
std::optional<uint64_t> HostIdentity();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_HOST_IDENTITY_H_
