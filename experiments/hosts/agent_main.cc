// The agent binary, which compare copies to each host and starts there over ssh. Linked
// statically, so that it runs on a host that lacks the libraries the programs need, and says so.
#include <csignal>
#include <cstdio>

#include "absl/strings/numbers.h"
#include "core/clock.h"
#include "experiments/hosts/agent.h"

namespace crossover::experiments {
namespace {

int Main(int argc, char** argv) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  AgentOptions options;
  if (argc != 3 || !absl::SimpleAtod(argv[2], &options.silence_s)) {
    std::fputs("agent FOLDER SILENCE_S: started by the compare binary over ssh\n", stderr);
    return 2;
  }
  options.folder = argv[1];
  SystemClock clock;
  Agent(options, clock).Run();
  return 0;
}

}  // namespace
}  // namespace crossover::experiments

int main(int argc, char** argv) { return crossover::experiments::Main(argc, argv); }
