#include "experiments/launch/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "lab/namespaces.h"

namespace crossover::experiments {
namespace {

// The launcher's environment with the additions, as execve wants it.
std::vector<std::string> MergeEnvironment(
    const std::vector<std::pair<std::string, std::string>>& additions) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : additions) merged[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : merged) entries.push_back(absl::StrCat(name, "=", value));
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Standard {
  int input;
  int output;
  int error;
};

// In the child, between fork and exec: async-signal-safe calls alone. Does not return.
[[noreturn]] void BecomeProgram(char* const* arguments, char* const* environment, Standard fds,
                                int error_fd, pid_t launcher) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(127);  // it died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int input_fd = fds.input >= 0 ? fds.input : open("/dev/null", O_RDONLY);
  dup2(input_fd, STDIN_FILENO);
  dup2(fds.output, STDOUT_FILENO);
  dup2(fds.error, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(error_fd, &error, sizeof error);
  _exit(127);
}

}  // namespace

std::string ExitStatus::Describe() const {
  if (!unknown.empty()) return unknown;
  if (signal != 0) {
    return absl::StrCat("was killed by signal ", signal, " (", strsignal(signal), ")");
  }
  return absl::StrCat("exited with code ", code);
}

absl::StatusOr<ChildProcess> ChildProcess::Start(const ChildOptions& options) {
  if (options.network_namespace.empty()) return StartHere(options);
  // A child is born where its parent is.
  ASSIGN_OR_RETURN(const lab::ScopedNamespace network,
                   lab::ScopedNamespace::Enter(options.network_namespace));
  return StartHere(options);
}

absl::StatusOr<ChildProcess> ChildProcess::StartHere(const ChildOptions& options) {
  const bool has_log = !options.log_path.empty() || options.output_fd < 0;
  const int log_fd =
      has_log ? open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
  if (has_log && log_fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write the log ", options.log_path));
  }
  // Carries exec's error; closed without a word by a successful exec.
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) {
    const int error = errno;
    if (has_log) close(log_fd);
    return absl::ErrnoToStatus(error, "cannot make a pipe");
  }
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = MergeEnvironment(options.environment);
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    const Standard fds = {.input = options.input_fd,
                          .output = options.output_fd >= 0 ? options.output_fd : log_fd,
                          .error = has_log ? log_fd : options.output_fd};
    BecomeProgram(argument_pointers.data(), environment_pointers.data(), fds, error_pipe[1],
                  launcher);
  }
  const int fork_error = errno;
  if (has_log) close(log_fd);
  close(error_pipe[1]);
  int exec_error = 0;
  const bool failed = pid > 0 && read(error_pipe[0], &exec_error, sizeof exec_error) > 0;
  close(error_pipe[0]);
  if (pid < 0) {
    return absl::ErrnoToStatus(fork_error, absl::StrCat("cannot start ", options.arguments[0]));
  }
  ChildProcess child(pid);
  if (failed) {
    return absl::ErrnoToStatus(exec_error, absl::StrCat("cannot run ", options.arguments[0]));
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), ended_(std::exchange(other.ended_, std::nullopt)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(ended_, other.ended_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || Poll().has_value()) return;
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<ExitStatus> ChildProcess::Poll() {
  if (ended_.has_value()) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = WIFSIGNALED(status) ? ExitStatus{.code = 0, .signal = WTERMSIG(status)}
                                 : ExitStatus{.code = WEXITSTATUS(status), .signal = 0};
  }
  return ended_;
}

void ChildProcess::Signal(int signal) {
  if (pid_ > 0 && !Poll().has_value()) kill(pid_, signal);
}

}  // namespace crossover::experiments
