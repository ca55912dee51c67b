// Whether a test may count on a network lab.
#ifndef CROSSOVER_TESTS_LAB_AVAILABLE_H_
#define CROSSOVER_TESTS_LAB_AVAILABLE_H_

#include <string>

namespace crossover::tests {

// Why this machine makes no network lab; "" if it does. Makes one, which takes a second.
std::string WhyNoLab();

}  // namespace crossover::tests

#endif  // CROSSOVER_TESTS_LAB_AVAILABLE_H_
