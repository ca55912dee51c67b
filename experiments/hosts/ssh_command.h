// How ssh is called, and what it has the host do first. Pure; thread-safe.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_SSH_COMMAND_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_SSH_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/hosts/host_file.h"

namespace crossover::experiments {

// The command line of ssh. It asks no questions (BatchMode), has a connection of its own, so
// that what runs there ends with it, and notices within some 12 s that a host is gone.
// `options` are users' ("StrictHostKeyChecking=no") and win over ours. The words of
// `remote_command` reach the host's shell quoted: each arrives as it is.
std::vector<std::string> SshArguments(const HostSpec& host, const std::vector<std::string>& options,
                                      const std::vector<std::string>& remote_command);

// What the host's shell is told: find the agent in `folder` (from the user's home if it is not
// absolute; "": ~/.cache/crossover), or take it from standard input, and become it. It answers
// with one line before that: kAgentFound, kAgentNeeded (then `agent_bytes` bytes are read), or
// kWrongMachine and what it is instead of `machine` ("Linux x86_64").
std::vector<std::string> BootstrapCommand(const std::string& folder, const std::string& agent_hash,
                                          int64_t agent_bytes, const std::string& machine,
                                          double silence_s);

inline constexpr char kAgentFound[] = "crossover-agent found";
inline constexpr char kAgentNeeded[] = "crossover-agent needed";
inline constexpr char kWrongMachine[] = "crossover-agent cannot run on ";

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_SSH_COMMAND_H_
