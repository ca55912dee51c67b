#include "tests/ssh_hosts.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"
#include "lab/command.h"
#include "os/files.h"
#include "tests/lab_available.h"

namespace crossover::tests {
namespace {

namespace fs = std::filesystem;
using experiments::ChildProcess;

constexpr char kSshd[] = "/usr/sbin/sshd";

absl::Status MakeKey(const std::string& path) {
  return lab::RunCommand({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path}).status();
}

}  // namespace

std::string WhyNoSshHosts() {
  const std::string why_no_lab = WhyNoLab();
  if (!why_no_lab.empty()) return "no network lab here: " + why_no_lab;
  if (access(kSshd, X_OK) != 0) {
    return "needs sshd (Debian's package openssh-server; tools/setup --tests)";
  }
  return "";
}

SshHosts::SshHosts(std::string directory) : directory_(std::move(directory)) {}

absl::StatusOr<std::unique_ptr<SshHosts>> SshHosts::Up(int hosts, const std::string& directory) {
  std::error_code error;
  fs::create_directories("/run/sshd", error);
  std::unique_ptr<SshHosts> up(new SshHosts(directory));
  for (const char* key : {"host_key", "key", "strange_key"}) {
    RETURN_IF_ERROR(MakeKey(absl::StrCat(directory, "/", key)));
  }
  lab::LabOptions options;
  for (int i = 0; i < hosts; ++i) options.nodes.push_back({absl::StrCat("host", i), "worker"});
  options.switch_binary = "lab/switch";
  options.label = "hosts";
  absl::StatusOr<std::unique_ptr<lab::NetworkLab>> lab = lab::NetworkLab::Up(options);
  RETURN_IF_ERROR(Annotate(lab.status(), "no network lab on this machine: "));
  up->lab_ = *std::move(lab);
  return up;
}

SshHosts::~SshHosts() { Down().IgnoreError(); }

absl::Status SshHosts::Down() {
  if (lab_ == nullptr) return absl::OkStatus();
  sshds_.clear();
  // A connection's own sshd outlives the first one, where its link was cut.
  for (const int pid : Pids()) kill(pid, SIGKILL);
  return lab_->Down();
}

absl::Status SshHosts::StartSshd(int host, const std::string& key, const std::string& before) {
  const std::string config = absl::StrCat(directory_, "/sshd-", host);
  RETURN_IF_ERROR(os::WriteFile(
      config, absl::StrCat("Port 22\nListenAddress 0.0.0.0\nHostKey ", directory_,
                           "/host_key\nPidFile none\nUsePAM no\nPasswordAuthentication no\n"
                           "PermitRootLogin prohibit-password\nStrictModes no\n"
                           "AuthorizedKeysFile ",
                           directory_, "/", key, ".pub\n")));
  ASSIGN_OR_RETURN(ChildProcess sshd,
                   ChildProcess::Start(
                       {.arguments = {"/usr/bin/unshare", "-m", "/bin/sh", "-c",
                                      absl::StrCat(before, " exec ", kSshd, " -D -e -f ", config)},
                        .log_path = config + ".log",
                        .network_namespace = lab_->nodes()[host].network_namespace}));
  sshds_.push_back(std::move(sshd));
  std::string log;
  for (int i = 0; i < 100; ++i) {
    log = os::ReadFile(config + ".log").value_or("");
    if (log.find("Server listening") != std::string::npos) return absl::OkStatus();
    clock_.SleepNs(100'000'000);
  }
  return absl::UnavailableError(absl::StrCat("sshd of host ", host, " does not listen: ", log));
}

absl::Status SshHosts::StartAllSshds() {
  for (int host = 0; host < static_cast<int>(lab_->nodes().size()); ++host) {
    RETURN_IF_ERROR(StartSshd(host));
  }
  return absl::OkStatus();
}

std::vector<std::string> SshHosts::ssh_options() const {
  return {"IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
          absl::StrCat("IdentityFile=", directory_, "/key")};
}

std::vector<int> SshHosts::Pids() const {
  std::vector<int> pids;
  for (const lab::Node& node : lab_->nodes()) {
    const std::string listed =
        lab::RunCommand({"ip", "netns", "pids", node.network_namespace}).value_or("");
    for (const absl::string_view line : absl::StrSplit(listed, '\n', absl::SkipWhitespace())) {
      int pid = 0;
      if (absl::SimpleAtoi(line, &pid)) pids.push_back(pid);
    }
  }
  return pids;
}

std::vector<int> SshHosts::Running() const {
  std::vector<int> running;
  for (const int pid : Pids()) {
    const std::string name = os::ReadFile(absl::StrCat("/proc/", pid, "/comm")).value_or("");
    if (name.find("sshd") == std::string::npos && !name.empty()) running.push_back(pid);
  }
  return running;
}

std::vector<std::string> SshHosts::FilesOfRuns() const {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(remote_dir() + "/runs", error)) {
    files.push_back(entry.path().string());
  }
  return files;
}

}  // namespace crossover::tests
