// One bug for each sanitizer, to prove that its configuration sees bugs.
// Usage: deliberate_bug use-after-free|leak|overflow|race
#include <climits>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

namespace {

int UseAfterFree(int argc) {
  auto numbers = std::vector<int>(static_cast<size_t>(argc) + 8, 1);
  const int* first = numbers.data();
  numbers = std::vector<int>();
  return *first;
}

int Leak(int argc) {
  volatile int* lost = new int[static_cast<size_t>(argc) + 8];
  lost[0] = argc;
  const int value = lost[0];
  lost = nullptr;
  return value;
}

int Overflow(int argc) { return INT_MAX - 1 + argc; }

int Race() {
  int shared = 0;
  std::thread other([&shared] { ++shared; });
  ++shared;
  other.join();
  return shared;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view bug = argc > 1 ? argv[1] : "";
  int value = 0;
  if (bug == "use-after-free") value = UseAfterFree(argc);
  if (bug == "leak") value = Leak(argc);
  if (bug == "overflow") value = Overflow(argc);
  if (bug == "race") value = Race();
  std::printf("not seen: %s (%d)\n", argv[1], value);
  return 0;
}
