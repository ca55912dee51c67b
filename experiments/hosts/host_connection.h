// The launcher's end of an ssh connection to a host's agent (agent.h): requests and answers,
// and what the processes started there write and how they end.
//
// A thread of its own reads, keeps the agent from thinking that the launcher has died, and
// writes logs. The functions are for one thread, which also made it: the kernel ends ssh with
// that. The connection's end, whichever it is, ends everything on the host.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_HOST_CONNECTION_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_HOST_CONNECTION_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "experiments/hosts/agent_message.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/run_hosts.h"
#include "os/unique_fd.h"

namespace crossover::experiments {

struct ConnectionOptions {
  std::string name;                  // of the host, for messages
  std::vector<std::string> command;  // ssh and its arguments; BootstrapCommand on the host
  std::string agent;                 // the agent's program, sent where the host lacks it
  std::string agent_sha256;
};

class HostConnection {
 public:
  // Starts ssh; Meet waits for the agent. Several may be on their way at once.
  static absl::StatusOr<std::unique_ptr<HostConnection>> Open(const ConnectionOptions& options,
                                                              const Clock& clock);
  // Blocks, at most a minute. Errors say what ssh said.
  absl::Status Meet();
  // Ends everything on the host; blocks until the agent has (some seconds at most).
  ~HostConnection();

  const std::string& name() const { return options_.name; }
  const AgentMessage& hello() const { return hello_; }  // after Meet

  // Sends and waits for the answer, whose error becomes the status. Every error names the host.
  absl::StatusOr<AgentMessage> Request(const AgentMessage& request, double timeout_s = 30);
  // The two halves, so that several hosts can work at once; one request at a time each. The
  // answer is the last request's: one that comes too late is dropped.
  absl::Status Ask(AgentMessage request);
  absl::StatusOr<AgentMessage> TakeAnswer(double timeout_s);

  // Makes a folder for one run on the host, and says its path.
  absl::StatusOr<std::string> BeginRun();

  // Copies a file of the launcher's there, or one from there; in pieces.
  absl::Status PutFile(const std::string& from, const std::string& to, int mode);
  absl::Status GetFile(const std::string& from, const std::string& to);

  // The process must not outlive the connection.
  absl::StatusOr<std::unique_ptr<StartedProcess>> StartProcess(const ChildOptions& options);

 private:
  class Process;
  struct Watched {  // a process, as the reading thread knows it
    os::UniqueFd log;
    std::optional<ExitStatus> ended;
  };

  HostConnection(const ConnectionOptions& options, const Clock& clock)
      : options_(options), clock_(clock) {}
  absl::Status Greet(int64_t deadline_ns);
  absl::StatusOr<std::string> ReadLine(int64_t deadline_ns);
  absl::Status SendBytes(const std::string& bytes);
  std::string WhySshEnded() const;
  void Read();
  void SayAlive();
  void Take(AgentMessage message);
  void Lose(const std::string& why);
  std::optional<ExitStatus> EndOf(int64_t id);
  void Forget(int64_t id);

  const ConnectionOptions options_;
  const Clock& clock_;
  os::UniqueFd to_ssh_;
  os::UniqueFd from_ssh_;
  os::UniqueFd errors_;  // what ssh, and the host's shell, wrote to standard error
  std::optional<ChildProcess> ssh_;
  MessageReader reader_;  // Meet's, then the reading thread's
  AgentMessage hello_;
  std::thread reading_;
  int64_t next_id_ = 0;
  int64_t last_request_ = 0;

  std::mutex sending_;  // held while a message is written
  std::mutex mutex_;    // guards what follows
  std::condition_variable changed_;
  std::deque<AgentMessage> answers_;
  std::map<int64_t, Watched> processes_;
  std::string lost_;  // why the connection has ended; "" while it stands
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_HOST_CONNECTION_H_
