// What runs on a host for as long as a launcher's ssh connection to it stands: starts and
// watches processes, moves files, probes. When the connection ends, or the launcher has been
// silent for too long, everything that it started is ended and the run's folder with its
// token is removed. Its messages: agent_message.h.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_AGENT_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_AGENT_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "experiments/hosts/agent_message.h"
#include "experiments/hosts/pair_probe.h"
#include "experiments/launch/child_process.h"
#include "net/socket.h"

namespace crossover::experiments {

struct AgentOptions {
  std::string folder;  // for programs and runs; exists
  double silence_s = 30;
  int input_fd = 0;
  int output_fd = 1;
};

// For one thread, which runs it to its end: the kernel kills the processes with it.
class Agent {
 public:
  Agent(AgentOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}
  // Blocks until the connection has ended, a signal came or the launcher fell silent. SIGTERM,
  // SIGINT and SIGHUP must be blocked.
  void Run();

 private:
  struct Process {
    int64_t id;
    ChildProcess child;
    net::UniqueFd output;
  };

  void SendHello();
  bool WaitForWork();  // false: the end has come
  bool ReadRequests();
  bool Flush();
  void Handle(const AgentMessage& request);
  absl::StatusOr<AgentMessage> Answer(const std::string& verb, const AgentMessage& request);
  absl::StatusOr<AgentMessage> AnswerOnFiles(const std::string& verb, const AgentMessage& request);
  absl::StatusOr<AgentMessage> Probe(const AgentMessage& request);
  absl::StatusOr<AgentMessage> Begin();
  absl::StatusOr<AgentMessage> Start(const AgentMessage& request);
  absl::Status End();
  void Signal(const AgentMessage& request);
  void Forward(Process& process);
  void ForwardAll();
  bool Full() const;
  void Send(const AgentMessage& message) { output_ += EncodeMessage(message); }

  const AgentOptions options_;
  Clock& clock_;
  MessageReader reader_;
  std::string output_;  // not written yet
  int64_t heard_ns_ = 0;
  int runs_ = 0;
  std::string run_folder_;
  std::list<Process> processes_;
  std::unique_ptr<ProbeServer> probe_server_;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_AGENT_H_
