// Tells whether two processes can share memory: whether they run under one kernel, in one process
// namespace and as one user. Two network namespaces count as two hosts, since whoever makes them
// (the network lab, containers) means hosts by them.
#ifndef CROSSOVER_OS_HOST_IDENTITY_H_
#define CROSSOVER_OS_HOST_IDENTITY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace crossover::os {

// A number that processes of one host have in common and, but for a chance of 2^-64, no others
// have; nullopt where the system does not tell. Blocks as long as reading /proc.
std::optional<uint64_t> HostIdentity();

// The running kernel's name of itself: that of the machine, whatever namespaces a process is in. ""
// where the system does not tell.
std::string BootId();

// "" where the system does not tell.
std::string HostName();

}  // namespace crossover::os

#endif  // CROSSOVER_OS_HOST_IDENTITY_H_
