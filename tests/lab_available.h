// Whether a test may count on a network lab.
#ifndef CROSSOVER_TESTS_LAB_AVAILABLE_H_
#define CROSSOVER_TESTS_LAB_AVAILABLE_H_

#include <string>

namespace crossover::tests {

// Why this machine can have no network lab: not root, no iproute2, no /dev/net/tun, or a kernel
// or container that forbids a namespace or a device in it. Tries those, in a fraction of a
// second. "" otherwise: what fails then is the lab's fault, and a test's failure.
std::string WhyNoLab();

}  // namespace crossover::tests

#endif  // CROSSOVER_TESTS_LAB_AVAILABLE_H_
