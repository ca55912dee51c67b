#include "lab/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"

namespace crossover::lab {
namespace {

constexpr int kCommandTimeoutMs = 30'000;
constexpr size_t kErrorTextBytesMax = 500;

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/", "/usr/local/bin/"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return absl::NotFoundError(
      absl::StrCat("the program ", name,
                   " is missing in /usr/sbin, /usr/bin, /sbin and /bin; the network lab needs it: "
                   "install Debian's package iproute2"));
}

// posix_spawn's attributes and file actions, freed with it.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  void Connect(int fd, int target) {
    if (fd < 0) {
      posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", O_RDWR, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, fd, target);
    }
  }
  // A socket that the switch inherited would keep its port for as long as the switch runs.
  void CloseOthers() { posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1); }
  const posix_spawnattr_t* attributes() const { return &attributes_; }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

}  // namespace

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, int stdin_fd, int stdout_fd,
                            int stderr_fd) {
  ASSIGN_OR_RETURN(const std::string path, FindProgram(arguments[0]));
  SpawnSettings settings;
  settings.Connect(stdin_fd, STDIN_FILENO);
  settings.Connect(stdout_fd, STDOUT_FILENO);
  settings.Connect(stderr_fd, STDERR_FILENO);
  settings.CloseOthers();
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, path.c_str(), settings.actions(), settings.attributes(),
                                pointers.data(), environ);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot run ", path));
  return pid;
}

absl::StatusOr<os::UniqueFd> MemoryFile(const std::string& text) {
  os::UniqueFd file(memfd_create("command", MFD_CLOEXEC));
  if (!file.valid() ||
      write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a file in memory");
  }
  return file;
}

std::string TextOf(const os::UniqueFd& file) {
  std::string text;
  std::array<char, 4096> part;
  ssize_t bytes = 0;
  while ((bytes = pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()))) >
         0) {
    text.append(part.data(), static_cast<size_t>(bytes));
  }
  return text;
}

bool WaitForEnd(pid_t pid, int timeout_ms) {
  // glibc 2.36 declares pidfd_open without C linkage.
  const os::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return true;  // gone already
  pollfd poll_fd = {.fd = process.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&poll_fd, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& arguments,
                                       const std::string& input) {
  const std::string command = absl::StrCat("`", absl::StrJoin(arguments, " "), "`");
  ASSIGN_OR_RETURN(const os::UniqueFd in, MemoryFile(input));
  ASSIGN_OR_RETURN(const os::UniqueFd out, MemoryFile(""));
  ASSIGN_OR_RETURN(const os::UniqueFd errors, MemoryFile(""));
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(arguments, in.get(), out.get(), errors.get()));
  const bool ended = WaitForEnd(pid, kCommandTimeoutMs);
  if (!ended) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    return absl::DeadlineExceededError(
        absl::StrCat(command, " has not ended after ", kCommandTimeoutMs / 1000, " s"));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string error = TextOf(errors);
    absl::StripAsciiWhitespace(&error);
    if (error.size() > kErrorTextBytesMax) error = error.substr(error.size() - kErrorTextBytesMax);
    const std::string end = WIFEXITED(status) ? absl::StrCat("code ", WEXITSTATUS(status))
                                              : absl::StrCat("signal ", WTERMSIG(status));
    return absl::InternalError(absl::StrCat(command, " failed with ", end, ": ",
                                            error.empty() ? "it said nothing" : error,
                                            input.empty() ? "" : "\nIts input was:\n", input));
  }
  return TextOf(out);
}

}  // namespace crossover::lab
