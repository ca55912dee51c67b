#include "experiments/hosts/host_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/status.h"
#include "experiments/hosts/quiet_thread.h"
#include "experiments/hosts/ssh_command.h"
#include "lab/command.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;
constexpr double kMeetS = 60;
constexpr int kAliveEveryMs = 1000;
constexpr double kCloseS = 8;
constexpr size_t kBlockBytes = 1 << 16;
constexpr size_t kNoiseBytesMax = 1 << 16;  // that a login shell may print before the agent speaks
constexpr size_t kPieceBytes = 1 << 20;
constexpr size_t kErrorBytesMax = 500;

bool WaitToRead(int fd, int timeout_ms) {
  pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, timeout_ms) > 0;
}

}  // namespace

// A process on the host, held by the launcher.
class HostConnection::Process : public StartedProcess {
 public:
  Process(HostConnection& host, int64_t id, int pid) : host_(host), id_(id), pid_(pid) {}
  ~Process() override {
    if (!Poll().has_value()) Signal(SIGKILL);
    host_.Forget(id_);
  }
  int pid() const override { return pid_; }
  std::optional<ExitStatus> Poll() override { return host_.EndOf(id_); }
  void Signal(int signal) override {
    AgentMessage message;
    message.fields = {{"do", "signal"}, {"id", id_}, {"signal", signal}};
    // Of a host that is lost, Poll says so.
    if (!Poll().has_value()) host_.SendBytes(EncodeMessage(message)).IgnoreError();
  }

 private:
  HostConnection& host_;
  const int64_t id_;
  const int pid_;
};

absl::StatusOr<std::unique_ptr<HostConnection>> HostConnection::Open(
    const ConnectionOptions& options, const Clock& clock) {
  std::unique_ptr<HostConnection> host(new HostConnection(options, clock));
  int input[2];
  int output[2];
  // A socket, since writing to one whose other end has gone need not raise SIGPIPE.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a socket pair");
  }
  host->to_ssh_ = os::UniqueFd(input[0]);
  const os::UniqueFd ssh_input(input[1]);
  if (pipe2(output, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  host->from_ssh_ = os::UniqueFd(output[0]);
  const os::UniqueFd ssh_output(output[1]);
  ASSIGN_OR_RETURN(host->errors_, lab::MemoryFile(""));
  absl::StatusOr<ChildProcess> ssh =
      ChildProcess::Start({.arguments = options.command,
                           .log_path = absl::StrCat("/proc/self/fd/", host->errors_.get()),
                           .input_fd = ssh_input.get(),
                           .output_fd = ssh_output.get()});
  RETURN_IF_ERROR(Annotate(ssh.status(), "ssh (Debian's package openssh-client): "));
  host->ssh_ = *std::move(ssh);
  return host;
}

HostConnection::~HostConnection() {
  shutdown(to_ssh_.get(), SHUT_WR);  // the agent sees the end of its input
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(kCloseS * kNsPerS);
  if (reading_.joinable()) {
    std::unique_lock lock(mutex_);
    while (lost_.empty() && clock_.NowNs() < deadline_ns) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
    }
  }
  if (ssh_.has_value()) ssh_->Signal(SIGKILL);  // has ended already, unless the host is lost
  if (reading_.joinable()) reading_.join();
}

absl::Status HostConnection::Meet() {
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(kMeetS * kNsPerS);
  RETURN_IF_ERROR(Annotate(Greet(deadline_ns), absl::StrCat(name(), ": ")));
  reading_ = StartQuietThread([this] { Read(); });
  return absl::OkStatus();
}

// The shell's answer, the agent itself where it is needed, the agent's hello.
absl::Status HostConnection::Greet(int64_t deadline_ns) {
  std::string line;
  size_t noise_bytes = 0;
  do {
    ASSIGN_OR_RETURN(line, ReadLine(deadline_ns));
    noise_bytes += line.size();
    if (line.starts_with(kWrongMachine)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the machine is ", line.substr(strlen(kWrongMachine)),
                       "; the programs were built for another; fix: hosts of one kind"));
    }
  } while (line != kAgentFound && line != kAgentNeeded && noise_bytes < kNoiseBytesMax);
  if (line == kAgentNeeded) RETURN_IF_ERROR(SendBytes(options_.agent));
  ASSIGN_OR_RETURN(line, ReadLine(deadline_ns));
  MessageReader reader;
  reader.Add(line + "\n");
  const absl::StatusOr<std::optional<AgentMessage>> hello = reader.Next();
  if (!hello.ok() || !hello->has_value() || (*hello)->Text("is") != "hello") {
    return absl::DataLossError(absl::StrCat("the agent did not say hello but: ", line));
  }
  hello_ = **hello;
  if (hello_.Text("sha256") == options_.agent_sha256) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the agent in ", hello_.Text("folder"),
                   "/programs is damaged; fix: remove that folder on the host"));
}

// Byte by byte: what follows the line is the reading thread's.
absl::StatusOr<std::string> HostConnection::ReadLine(int64_t deadline_ns) {
  std::string line;
  while (line.size() < kNoiseBytesMax) {
    const int64_t left_ns = std::max<int64_t>(deadline_ns - clock_.NowNs(), 0);
    if (!WaitToRead(from_ssh_.get(), static_cast<int>(left_ns / 1'000'000))) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer over ssh within ", kMeetS, " s; ", WhySshEnded()));
    }
    char byte = 0;
    const ssize_t got = read(from_ssh_.get(), &byte, 1);
    if (got <= 0) return absl::UnavailableError(WhySshEnded());
    if (byte == '\n') return line;
    line.push_back(byte);
  }
  return absl::DataLossError("the host's shell prints too much");
}

// The end of what ssh wrote: "Permission denied (publickey).".
std::string HostConnection::WhySshEnded() const {
  const std::string text = lab::TextOf(errors_);
  const size_t from = text.size() - std::min(text.size(), kErrorBytesMax);
  const std::string said(absl::StripAsciiWhitespace(text.substr(from)));
  if (said.empty()) return "ssh ended without a word";
  const std::string line = absl::StrReplaceAll(said, {{"\r", ""}, {"\n", "; "}});
  return line.starts_with("ssh: ") ? line : absl::StrCat("ssh: ", line);
}

absl::Status HostConnection::SendBytes(const std::string& bytes) {
  const std::lock_guard lock(sending_);
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        send(to_ssh_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return absl::UnavailableError(
          absl::StrCat(name(), ": the connection is lost; ", WhySshEnded()));
    }
    sent += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

void HostConnection::SayAlive() {
  constexpr std::string_view alive = "{\"do\":\"alive\"}\n";
  // Who is sending says it too. Not blocking: a stalled link must not stop the reading.
  if (!sending_.try_lock()) return;
  [[maybe_unused]] const ssize_t sent =
      send(to_ssh_.get(), alive.data(), alive.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  sending_.unlock();
}

void HostConnection::Read() {
  std::vector<char> block(kBlockBytes);
  int64_t next_alive_ns = 0;
  while (true) {
    if (clock_.NowNs() >= next_alive_ns) {
      SayAlive();
      next_alive_ns = clock_.NowNs() + kAliveEveryMs * int64_t{1'000'000};
    }
    if (!WaitToRead(from_ssh_.get(), kAliveEveryMs / 2)) continue;
    const ssize_t got = read(from_ssh_.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Lose(WhySshEnded());
    reader_.Add({block.data(), static_cast<size_t>(got)});
    while (true) {
      absl::StatusOr<std::optional<AgentMessage>> message = reader_.Next();
      if (!message.ok()) return Lose(std::string(message.status().message()));
      if (!message->has_value()) break;
      Take(**std::move(message));
    }
  }
}

void HostConnection::Take(AgentMessage message) {
  const std::lock_guard lock(mutex_);
  const std::string kind = message.Text("is");
  if (kind == "answer") {
    answers_.push_back(std::move(message));
    changed_.notify_all();
    return;
  }
  const auto found = processes_.find(message.Number("id"));
  if (found == processes_.end()) return;
  if (kind == "output") {
    // A full disk of the launcher's is told where results are written.
    [[maybe_unused]] const ssize_t written =
        write(found->second.log.get(), message.bytes.data(), message.bytes.size());
  } else if (kind == "exit") {
    found->second.ended = ExitStatus{.code = static_cast<int>(message.Number("code")),
                                     .signal = static_cast<int>(message.Number("signal")),
                                     .unknown = ""};
    changed_.notify_all();
  }
}

void HostConnection::Lose(const std::string& why) {
  const std::lock_guard lock(mutex_);
  lost_ = why;
  changed_.notify_all();
}

std::optional<ExitStatus> HostConnection::EndOf(int64_t id) {
  const std::lock_guard lock(mutex_);
  const Watched& process = processes_[id];
  if (process.ended.has_value() || lost_.empty()) return process.ended;
  return ExitStatus{.code = 0,
                    .signal = 0,
                    .unknown = absl::StrCat("cannot be watched: the connection to the host ",
                                            name(), " is lost (", lost_, ")")};
}

void HostConnection::Forget(int64_t id) {
  const std::lock_guard lock(mutex_);
  processes_.erase(id);
}

absl::Status HostConnection::Ask(AgentMessage request) {
  request.fields["request"] = ++last_request_;
  return SendBytes(EncodeMessage(request));
}

absl::StatusOr<AgentMessage> HostConnection::TakeAnswer(double timeout_s) {
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(timeout_s * kNsPerS);
  std::unique_lock lock(mutex_);
  const auto drop_late = [this] {
    while (!answers_.empty() && answers_.front().Number("request") != last_request_) {
      answers_.pop_front();
    }
    return answers_.empty();
  };
  while (drop_late() && lost_.empty() && clock_.NowNs() < deadline_ns) {
    changed_.wait_for(lock, std::chrono::milliseconds(100));
  }
  if (answers_.empty() && !lost_.empty()) {
    return absl::UnavailableError(absl::StrCat(name(), ": the connection is lost; ", lost_));
  }
  if (answers_.empty()) {
    return absl::DeadlineExceededError(
        absl::StrCat(name(), ": the agent did not answer within ", timeout_s, " s"));
  }
  AgentMessage answer = std::move(answers_.front());
  answers_.pop_front();
  RETURN_IF_ERROR(Annotate(StatusOfAnswer(answer), absl::StrCat(name(), ": ")));
  return answer;
}

absl::StatusOr<AgentMessage> HostConnection::Request(const AgentMessage& request,
                                                     double timeout_s) {
  RETURN_IF_ERROR(Ask(request));
  return TakeAnswer(timeout_s);
}

absl::StatusOr<std::string> HostConnection::BeginRun() {
  AgentMessage request;
  request.fields["do"] = "begin";
  ASSIGN_OR_RETURN(const AgentMessage answer, Request(request));
  std::string directory = answer.Text("directory");
  if (!directory.empty()) return directory;
  return absl::InternalError(
      absl::StrCat(name(), ": the agent named no folder for the run; its job and token stay here"));
}

absl::Status HostConnection::PutFile(const std::string& from, const std::string& to, int mode) {
  ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(from));
  for (size_t offset = 0; offset == 0 || offset < bytes.size(); offset += kPieceBytes) {
    AgentMessage piece;
    piece.fields = {{"do", "put"}, {"path", to}, {"offset", offset}, {"mode", mode}};
    piece.bytes = bytes.substr(offset, kPieceBytes);
    RETURN_IF_ERROR(Request(piece).status());
  }
  return absl::OkStatus();
}

absl::Status HostConnection::GetFile(const std::string& from, const std::string& to) {
  std::string bytes;
  while (true) {
    AgentMessage request;
    request.fields = {
        {"do", "get"}, {"path", from}, {"offset", bytes.size()}, {"size", kPieceBytes}};
    ASSIGN_OR_RETURN(const AgentMessage piece, Request(request));
    bytes += piece.bytes;
    if (piece.bytes.size() < kPieceBytes) break;
  }
  return os::WriteFile(to, bytes);
}

absl::StatusOr<std::unique_ptr<StartedProcess>> HostConnection::StartProcess(
    const ChildOptions& options) {
  const int64_t id = next_id_++;
  os::UniqueFd log(open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!log.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write the log ", options.log_path));
  }
  {
    const std::lock_guard lock(mutex_);
    processes_[id].log = std::move(log);
  }
  AgentMessage request;
  request.fields = {{"do", "start"}, {"id", id}, {"arguments", options.arguments}};
  request.fields["environment"] = nlohmann::json::object();
  for (const auto& [name, value] : options.environment) request.fields["environment"][name] = value;
  const absl::StatusOr<AgentMessage> answer = Request(request);
  if (!answer.ok()) {
    Forget(id);
    return answer.status();
  }
  return std::make_unique<Process>(*this, id, static_cast<int>(answer->Number("pid")));
}

}  // namespace crossover::experiments
