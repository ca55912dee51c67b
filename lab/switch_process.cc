#include "lab/switch_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "lab/command.h"

namespace crossover::lab {
namespace {

constexpr int kReadyTimeoutMs = 20'000;
constexpr int kAnswerTimeoutMs = 10'000;
constexpr int kEndTimeoutMs = 2'000;

struct Pipe {
  os::UniqueFd read_end, write_end;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  return Pipe{os::UniqueFd(ends[0]), os::UniqueFd(ends[1])};
}

std::string PortArgument(const SwitchPort& port) {
  return absl::StrFormat("--port=%s,%s,%.17g,%.17g,%.17g,%d", port.name, port.network_namespace,
                         port.link.rate_bits_per_s, port.link.delay_us, port.link.loss_fraction,
                         port.link.queue_bytes);
}

}  // namespace

SwitchProcess::SwitchProcess(pid_t pid, os::UniqueFd to, os::UniqueFd from, os::UniqueFd errors)
    : pid_(pid), to_(std::move(to)), from_(std::move(from)), errors_(std::move(errors)) {}

absl::StatusOr<std::unique_ptr<SwitchProcess>> SwitchProcess::Start(
    const std::string& binary, const std::vector<SwitchPort>& ports, uint64_t loss_seed) {
  ASSIGN_OR_RETURN(Pipe commands, MakePipe());
  ASSIGN_OR_RETURN(Pipe answers, MakePipe());
  ASSIGN_OR_RETURN(os::UniqueFd errors, MemoryFile(""));
  std::vector<std::string> arguments = {binary, absl::StrCat("--seed=", loss_seed)};
  for (const SwitchPort& port : ports) arguments.push_back(PortArgument(port));
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(arguments, commands.read_end.get(),
                                          answers.write_end.get(), errors.get()));
  std::unique_ptr<SwitchProcess> process(new SwitchProcess(
      pid, std::move(commands.write_end), std::move(answers.read_end), std::move(errors)));
  answers.write_end.Reset();  // or its end would never be seen
  ASSIGN_OR_RETURN(const std::string line, process->ReadLine(kReadyTimeoutMs));
  if (line != "ready") {
    return absl::InternalError(absl::StrCat("the switch said '", line, "' instead of 'ready'"));
  }
  return process;
}

SwitchProcess::~SwitchProcess() {
  to_.Reset();
  if (!WaitForEnd(pid_, kEndTimeoutMs)) kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string SwitchProcess::LastWords() const {
  std::string text = TextOf(errors_);
  absl::StripAsciiWhitespace(&text);
  return text.empty() ? "it said nothing" : text;
}

absl::StatusOr<std::string> SwitchProcess::ReadLine(int timeout_ms) {
  while (true) {
    if (const size_t end = unread_.find('\n'); end != std::string::npos) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd wait = {.fd = from_.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&wait, 1, timeout_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return absl::DeadlineExceededError(
          absl::StrCat("the network lab's switch has not answered in ", timeout_ms / 1000, " s"));
    }
    std::array<char, 4096> part;
    const ssize_t bytes = read(from_.get(), part.data(), part.size());
    if (bytes <= 0) {
      return absl::UnavailableError(absl::StrCat("the network lab's switch ended: ", LastWords()));
    }
    unread_.append(part.data(), static_cast<size_t>(bytes));
  }
}

absl::StatusOr<std::string> SwitchProcess::Command(const std::string& line) {
  const std::string text = line + "\n";
  if (write(to_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return absl::UnavailableError(absl::StrCat("the network lab's switch ended: ", LastWords()));
  }
  ASSIGN_OR_RETURN(std::string answer, ReadLine(kAnswerTimeoutMs));
  if (answer.rfind("ok", 0) != 0) {
    return absl::InternalError(
        absl::StrCat("the network lab's switch, asked '", line, "', answered: ", answer));
  }
  answer = answer.substr(2);
  absl::StripAsciiWhitespace(&answer);
  return answer;
}

}  // namespace crossover::lab
