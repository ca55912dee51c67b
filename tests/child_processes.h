// Which processes a process has started, as /proc tells.
#ifndef CROSSOVER_TESTS_CHILD_PROCESSES_H_
#define CROSSOVER_TESTS_CHILD_PROCESSES_H_

#include <vector>

namespace crossover::tests {

// Processes whose parent is `parent`, zombies apart.
std::vector<int> ChildrenOf(int parent);

}  // namespace crossover::tests

#endif  // CROSSOVER_TESTS_CHILD_PROCESSES_H_
