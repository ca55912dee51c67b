// Removes a lab's namespaces should their owner be killed: waits until standard input ends,
// that is until the owner has gone however it ended, and then removes what is left. An owner
// that takes its lab down by itself ends this program first.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <limits>
#include <string>

#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/status.h"
#include "lab/namespaces.h"

namespace crossover::lab {
namespace {

constexpr int64_t kTryEveryNs = 50'000'000;
constexpr int kTries = 200;  // 10 s: the owner's last threads and children may linger

void WaitForEndOfInput() {
  std::array<char, 64> ignored;
  while (true) {
    const ssize_t bytes = read(STDIN_FILENO, ignored.data(), ignored.size());
    if (bytes == 0 || (bytes < 0 && errno != EINTR)) return;
  }
}

absl::StatusOr<bool> AnyLeftOf(pid_t owner) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListNamespaces());
  for (const std::string& name : names) {
    if (NamespaceOwner(name) == owner) return true;
  }
  return false;
}

absl::Status Main(int argc, char** argv) {
  int64_t owner = 0;
  FlagSet flags("keeper --owner=PID",
                "Removes a network lab that its owner left behind; started by the lab.");
  flags.Add({"owner", "the process whose namespaces they are", "",
             SetWhole(&owner, 1, std::numeric_limits<pid_t>::max())});
  ASSIGN_OR_RETURN(const ParsedFlags parsed, flags.Parse(argc, argv));
  if (parsed.help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return absl::OkStatus();
  }
  // Whoever ends the owner's session must not end its keeper with it.
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_IGN);
  WaitForEndOfInput();
  SystemClock clock;
  absl::Status last;
  for (int i = 0; i < kTries; ++i) {
    last = RemoveLeftovers().status();
    ASSIGN_OR_RETURN(const bool left, AnyLeftOf(static_cast<pid_t>(owner)));
    if (!left) return absl::OkStatus();
    clock.SleepNs(kTryEveryNs);
  }
  return last;
}

}  // namespace
}  // namespace crossover::lab

int main(int argc, char** argv) {
  const absl::Status status = crossover::lab::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "keeper: %s\n", std::string(status.message()).c_str());
  return 1;
}
