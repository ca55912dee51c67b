#include "bench/shared/process_set.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

constexpr double kLookEveryS = 0.1;
constexpr size_t kLogTailBytes = 600;

std::string TailOf(const std::string& path) {
  const absl::StatusOr<std::string> log = os::ReadFile(path);
  if (!log.ok() || log->empty()) return "";
  std::string tail = log->size() > kLogTailBytes ? log->substr(log->size() - kLogTailBytes) : *log;
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return absl::StrCat("; it said: ", tail);
}

// Of this process, by the kernel's list.
std::set<pid_t> Children() {
  std::set<pid_t> children;
  const absl::StatusOr<std::string> listed =
      os::ReadFile(absl::StrCat("/proc/self/task/", getpid(), "/children"));
  if (!listed.ok()) return children;
  for (const absl::string_view word : absl::StrSplit(*listed, ' ', absl::SkipEmpty())) {
    int pid = 0;
    if (absl::SimpleAtoi(word, &pid)) children.insert(pid);
  }
  return children;
}

}  // namespace

ProcessSet::ProcessSet(experiments::SignalWaiter& signals, Clock& clock)
    : signals_(signals), clock_(clock), others_(Children()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ProcessSet::~ProcessSet() { TakeDown(0); }

absl::StatusOr<int> ProcessSet::Start(const std::string& name,
                                      const experiments::ChildOptions& options) {
  experiments::Site here;
  here.network_namespace = options.network_namespace;
  ASSIGN_OR_RETURN(std::unique_ptr<experiments::StartedProcess> started,
                   experiments::LocalHost("", "").Start(here, options));
  Add(name, options.log_path, std::move(started));
  return processes_.back().started->pid();
}

void ProcessSet::Add(const std::string& name, const std::string& log_path,
                     std::unique_ptr<experiments::StartedProcess> process) {
  processes_.push_back({name, log_path, std::move(process)});
}

absl::Status ProcessSet::Watch(double seconds, const std::function<absl::Status()>& check) {
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(seconds * 1e9);
  while (true) {
    bool running = false;
    for (Process& process : processes_) {
      const std::optional<experiments::ExitStatus> ended = process.started->Poll();
      running = running || !ended.has_value();
      if (!ended.has_value() || ended->ok()) continue;
      return absl::UnavailableError(
          absl::StrCat(process.name, " ", ended->Describe(), TailOf(process.log_path)));
    }
    if (!running) return absl::OkStatus();
    if (check) RETURN_IF_ERROR(check());
    if (clock_.NowNs() > deadline_ns) {
      return absl::DeadlineExceededError(
          absl::StrCat(processes_.front().name, " and ", processes_.size() - 1,
                       " more have not ended within ", seconds, " s"));
    }
    const int signal = signals_.Wait(kLookEveryS);
    if (signal == SIGINT) return absl::CancelledError("interrupted (SIGINT)");
    if (signal == SIGTERM) return absl::CancelledError("terminated (SIGTERM)");
  }
}

bool ProcessSet::WaitForEnds(double seconds) {
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(seconds * 1e9);
  while (true) {
    bool running = false;
    for (Process& process : processes_) running = running || !process.started->Poll().has_value();
    if (!running) return true;
    if (clock_.NowNs() >= deadline_ns) return false;
    signals_.Wait(0.02);
  }
}

void ProcessSet::TakeDown(double seconds) {
  for (Process& process : processes_) process.started->Signal(SIGTERM);
  for (Process& process : processes_) process.started->Signal(SIGCONT);
  if (!WaitForEnds(seconds)) {
    for (Process& process : processes_) process.started->Signal(SIGKILL);
    WaitForEnds(seconds + 1);
  }
  KillOrphans();
}

// Those that lost their parents: killed once our own have ended.
void ProcessSet::KillOrphans() {
  std::set<pid_t> known = others_;
  for (const Process& process : processes_) known.insert(process.started->pid());
  for (const pid_t pid : Children()) {
    if (known.count(pid) > 0) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

std::string ProcessSet::Killed() {
  std::string text;
  for (Process& process : processes_) {
    const std::optional<experiments::ExitStatus> ended = process.started->Poll();
    if (!ended.has_value() || ended->signal == 0) continue;
    absl::StrAppend(&text, " (", process.name, " ", ended->Describe(), ")");
  }
  return text;
}

}  // namespace crossover::bench
