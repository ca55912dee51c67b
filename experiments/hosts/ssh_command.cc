#include "experiments/hosts/ssh_command.h"

#include "absl/strings/str_cat.h"
#include "experiments/machine.h"

namespace crossover::experiments {
namespace {

// One line, and no single quotes, for the sake of shells like csh that it passes through.
// head takes no byte of what follows the agent. A name of its own until it is whole: several
// hosts may share a home.
constexpr char kScript[] =
    "umask 077; "
    "if [ \"$(uname -sm)\" != \"$4\" ]; then "
    "echo \"crossover-agent cannot run on $(uname -sm)\"; exit 0; fi; "
    "root=${1:-.cache/crossover}; "
    "case $root in /*) ;; \"~/\"*) root=$HOME/${root#\"~/\"} ;; *) root=$HOME/$root ;; esac; "
    "mkdir -p \"$root/programs\" || exit 1; "
    "agent=$root/programs/agent-$2; "
    "if [ -x \"$agent\" ]; then echo crossover-agent found; else "
    "echo crossover-agent needed; "
    "part=$agent.$(uname -n).$$; "
    "{ head -c \"$3\" >\"$part\" && chmod 700 \"$part\" && mv -f \"$part\" \"$agent\"; } || exit "
    "1; "
    "fi; "
    "exec \"$agent\" \"$root\" \"$5\"";

}  // namespace

std::vector<std::string> SshArguments(const HostSpec& host, const std::vector<std::string>& options,
                                      const std::vector<std::string>& remote_command) {
  std::vector<std::string> arguments = {"/usr/bin/ssh", "-T", "-e", "none"};
  const auto add = [&](const std::string& option) {
    arguments.push_back("-o");
    arguments.push_back(option);
  };
  // Of an option that is given twice, ssh takes the first.
  for (const std::string& option : options) add(option);
  for (const char* option :
       {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=3", "ServerAliveCountMax=4",
        "ControlMaster=no", "ControlPath=none", "ClearAllForwardings=yes", "ForwardAgent=no",
        "ForwardX11=no", "PermitLocalCommand=no", "RemoteCommand=none"}) {
    add(option);
  }
  if (!host.user.empty()) {
    arguments.push_back("-l");
    arguments.push_back(host.user);
  }
  if (host.port != 0) {
    arguments.push_back("-p");
    arguments.push_back(absl::StrCat(host.port));
  }
  arguments.push_back("--");
  arguments.push_back(host.address);
  std::string line = "exec";
  for (const std::string& word : remote_command) absl::StrAppend(&line, " ", QuoteForShell(word));
  arguments.push_back(line);
  return arguments;
}

std::vector<std::string> BootstrapCommand(const std::string& folder, const std::string& agent_hash,
                                          int64_t agent_bytes, const std::string& machine,
                                          double silence_s) {
  return {"/bin/sh",
          "-c",
          kScript,
          "sh",
          folder,
          agent_hash,
          absl::StrCat(agent_bytes),
          machine,
          absl::StrCat(silence_s)};
}

}  // namespace crossover::experiments
