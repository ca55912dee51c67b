#include "experiments/hosts/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "experiments/hosts/agent_files.h"
#include "experiments/hosts/sha256.h"
#include "net/local_address.h"
#include "os/environment.h"
#include "os/usable_cores.h"
#include "os/wall_time.h"

namespace crossover::experiments {
namespace {

constexpr int kPollMs = 100;
constexpr size_t kPieceBytes = 1 << 16;
// Beyond this, processes wait until the launcher has taken what they wrote.
constexpr size_t kOutputBytesMax = 1 << 22;
constexpr double kEndS = 2;  // between asking a process to end and killing it
constexpr int64_t kGetBytesMax = 1 << 20;

AgentMessage Ok() { return AnswerOf(absl::OkStatus()); }

std::vector<std::pair<std::string, std::string>> EnvironmentOf(const AgentMessage& request) {
  std::vector<std::pair<std::string, std::string>> environment;
  const auto found = request.fields.find("environment");
  if (found == request.fields.end() || !found->is_object()) return environment;
  for (const auto& [name, value] : found->items()) {
    if (value.is_string()) environment.emplace_back(name, value.get<std::string>());
  }
  return environment;
}

}  // namespace

void Agent::Run() {
  fcntl(options_.output_fd, F_SETFL, fcntl(options_.output_fd, F_GETFL) | O_NONBLOCK);
  RemoveLeftoverRuns(options_.folder);
  heard_ns_ = clock_.NowNs();
  SendHello();
  while (WaitForWork()) {
  }
  End().IgnoreError();
}

void Agent::SendHello() {
  AgentMessage hello;
  utsname system{};
  uname(&system);
  hello.fields = {{"is", "hello"},
                  {"folder", options_.folder},
                  {"sha256", HashFile("/proc/self/exe").value_or(FileHash()).sha256},
                  {"hostname", system.nodename},
                  {"kernel", absl::StrCat(system.sysname, " ", system.release)},
                  {"cores", os::UsableCores()},
                  {"memory_bytes", int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE)},
                  {"free_bytes", FreeBytes(options_.folder)},
                  {"ssh_connection", os::SshConnection()}};
  Send(hello);
}

bool Agent::Full() const { return output_.size() >= kOutputBytesMax; }

bool Agent::WaitForWork() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, signal);
  const timespec at_once = {};
  if (sigtimedwait(&ends, nullptr, &at_once) > 0) return false;
  std::vector<pollfd> waiting = {{.fd = options_.input_fd, .events = POLLIN, .revents = 0},
                                 {.fd = options_.output_fd,
                                  .events = static_cast<short>(output_.empty() ? 0 : POLLOUT),
                                  .revents = 0}};
  if (!Full()) {
    for (const Process& process : processes_) {
      if (process.output.valid()) {
        waiting.push_back({.fd = process.output.get(), .events = POLLIN, .revents = 0});
      }
    }
  }
  poll(waiting.data(), waiting.size(), kPollMs);
  if (waiting[0].revents != 0 && !ReadRequests()) return false;
  ForwardAll();
  if (!Flush()) return false;
  const double silent_s = static_cast<double>(clock_.NowNs() - heard_ns_) * 1e-9;
  return silent_s < options_.silence_s;
}

bool Agent::ReadRequests() {
  std::vector<char> block(kPieceBytes);
  const ssize_t got = read(options_.input_fd, block.data(), block.size());
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  reader_.Add({block.data(), static_cast<size_t>(got)});
  while (true) {
    absl::StatusOr<std::optional<AgentMessage>> request = reader_.Next();
    if (!request.ok()) {
      std::fprintf(stderr, "agent: %s\n", std::string(request.status().message()).c_str());
      return false;
    }
    if (!request->has_value()) break;
    Handle(**request);
  }
  heard_ns_ = clock_.NowNs();
  return true;
}

bool Agent::Flush() {
  while (!output_.empty()) {
    const ssize_t written = write(options_.output_fd, output_.data(), output_.size());
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    output_.erase(0, static_cast<size_t>(written));
  }
  return true;
}

void Agent::Handle(const AgentMessage& request) {
  const std::string verb = request.Text("do");
  if (verb == "alive") return;
  if (verb == "signal") return Signal(request);
  const absl::StatusOr<AgentMessage> answered = Answer(verb, request);
  AgentMessage answer = answered.ok() ? *answered : AnswerOf(answered.status());
  answer.fields["request"] = request.Number("request");
  Send(answer);
}

absl::StatusOr<AgentMessage> Agent::Answer(const std::string& verb, const AgentMessage& request) {
  AgentMessage answer = Ok();
  if (verb == "time") {
    answer.fields["wall_ns"] = os::WallTimeNs();
  } else if (verb == "address") {
    ASSIGN_OR_RETURN(const net::AddressChoice choice, net::LocalAddress(request.Text("interface")));
    answer.fields["address"] = choice.address;
    answer.fields["choice"] = net::DescribeChoice(choice);
  } else if (verb == "begin") {
    return Begin();
  } else if (verb == "start") {
    return Start(request);
  } else if (verb == "end") {
    RETURN_IF_ERROR(End());
  } else if (verb == "probe_listen") {
    ASSIGN_OR_RETURN(probe_server_, ProbeServer::Start(request.Text("address"), clock_));
    answer.fields["address"] = probe_server_->address();
    answer.fields["secret"] = probe_server_->secret();
  } else if (verb == "probe") {
    return Probe(request);
  } else if (verb == "clean") {
    RETURN_IF_ERROR(RemoveTree(options_.folder + "/programs"));
  } else {
    return AnswerOnFiles(verb, request);
  }
  return answer;
}

absl::StatusOr<AgentMessage> Agent::AnswerOnFiles(const std::string& verb,
                                                  const AgentMessage& request) {
  AgentMessage answer = Ok();
  const std::string path = request.Text("path");
  if (verb == "hash") {
    ASSIGN_OR_RETURN(const FileHash hash, HashFile(path));
    answer.fields["sha256"] = hash.sha256;
    answer.fields["size"] = hash.bytes;
  } else if (verb == "libraries") {
    ASSIGN_OR_RETURN(answer.fields["missing"], MissingLibraries(path));
  } else if (verb == "put") {
    RETURN_IF_ERROR(PutPiece(path, request.Number("offset"), request.bytes,
                             static_cast<int>(request.Number("mode")) & 0700));
  } else if (verb == "rename") {
    std::error_code error;
    std::filesystem::rename(request.Text("from"), request.Text("to"), error);
    if (error) {
      return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", request.Text("to")));
    }
  } else if (verb == "get") {
    const int64_t size = std::clamp<int64_t>(request.Number("size"), 0, kGetBytesMax);
    ASSIGN_OR_RETURN(answer.bytes, GetPiece(path, request.Number("offset"), size));
  } else {
    return absl::UnimplementedError(absl::StrCat("the agent knows no \"", verb, "\""));
  }
  return answer;
}

absl::StatusOr<AgentMessage> Agent::Probe(const AgentMessage& request) {
  const double seconds = std::clamp(request.Real("seconds"), 0.0, 10.0);
  ASSIGN_OR_RETURN(const PairFigures figures,
                   ProbePeer(request.Text("address"), request.Text("secret"), seconds, clock_));
  AgentMessage answer = Ok();
  answer.fields["rtt_us"] = figures.rtt_us;
  answer.fields["bytes_per_s"] = figures.bytes_per_s;
  return answer;
}

absl::StatusOr<AgentMessage> Agent::Begin() {
  RETURN_IF_ERROR(End());
  ASSIGN_OR_RETURN(run_folder_, MakeRunFolder(options_.folder, ++runs_));
  AgentMessage answer = Ok();
  answer.fields["directory"] = run_folder_;
  return answer;
}

absl::StatusOr<AgentMessage> Agent::Start(const AgentMessage& request) {
  const std::vector<std::string> arguments = request.Texts("arguments");
  if (arguments.empty()) return absl::InvalidArgumentError("no program to start");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  net::UniqueFd reading(ends[0]);
  const net::UniqueFd writing(ends[1]);
  fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  ASSIGN_OR_RETURN(ChildProcess child,
                   ChildProcess::Start({.arguments = arguments,
                                        .output_fd = writing.get(),
                                        .environment = EnvironmentOf(request)}));
  AgentMessage answer = Ok();
  answer.fields["pid"] = child.pid();
  processes_.push_back({request.Number("id"), std::move(child), std::move(reading)});
  return answer;
}

void Agent::Signal(const AgentMessage& request) {
  for (Process& process : processes_) {
    if (process.id == request.Number("id")) {
      process.child.Signal(static_cast<int>(request.Number("signal")));
    }
  }
}

absl::Status Agent::End() {
  // A process that was stopped acts on SIGTERM only once it goes on.
  for (const int signal : {SIGTERM, SIGCONT}) {
    for (Process& process : processes_) process.child.Signal(signal);
  }
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(kEndS * 1e9);
  const auto runs = [](Process& process) { return !process.child.Poll().has_value(); };
  while (std::any_of(processes_.begin(), processes_.end(), runs) && clock_.NowNs() < deadline_ns) {
    clock_.SleepNs(20'000'000);
  }
  processes_.clear();  // kills what still runs
  if (run_folder_.empty()) return absl::OkStatus();
  return RemoveTree(std::exchange(run_folder_, ""));
}

void Agent::Forward(Process& process) {
  std::vector<char> block(kPieceBytes);
  while (process.output.valid() && !Full()) {
    const ssize_t got = read(process.output.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return process.output.Reset();
    AgentMessage message;
    message.fields = {{"is", "output"}, {"id", process.id}};
    message.bytes.assign(block.data(), static_cast<size_t>(got));
    Send(message);
  }
}

void Agent::ForwardAll() {
  for (auto process = processes_.begin(); process != processes_.end();) {
    // Looked at before its last output is taken, so that none comes after.
    const std::optional<ExitStatus> ended = process->child.Poll();
    Forward(*process);
    if (!ended.has_value() || Full()) {
      ++process;
      continue;
    }
    AgentMessage message;
    message.fields = {
        {"is", "exit"}, {"id", process->id}, {"code", ended->code}, {"signal", ended->signal}};
    Send(message);
    process = processes_.erase(process);
  }
}

}  // namespace crossover::experiments
