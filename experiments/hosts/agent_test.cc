// The agent and the launcher's end of its connection, without ssh between them: the
// bootstrap's part is played by this machine's shell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "experiments/hosts/host_connection.h"
#include "experiments/hosts/sha256.h"
#include "experiments/hosts/ssh_command.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr char kAgent[] = "experiments/hosts/agent";

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    folder_ = absl::StrCat(testing::TempDir(), "/",
                           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  // `silence_s`: after which the agent gives up on us.
  void Connect(double silence_s = 30) {
    ConnectionOptions options;
    options.name = "host-1";
    options.agent = os::ReadFile(kAgent).value();
    options.agent_sha256 = HashFile(kAgent).value().sha256;
    options.command = {
        "/bin/sh",
        "-c",
        absl::StrCat("echo a login message; echo ", kAgentFound, "; exec \"$0\" \"$@\""),
        kAgent,
        folder_,
        absl::StrCat(silence_s)};
    auto host = HostConnection::Open(options, clock_);
    ASSERT_TRUE(host.ok()) << host.status();
    host_ = *std::move(host);
    const absl::Status met = host_->Meet();
    ASSERT_TRUE(met.ok()) << met;
  }

  AgentMessage Ask(nlohmann::json fields) {
    AgentMessage request;
    request.fields = std::move(fields);
    const auto answer = host_->Request(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(AgentMessage());
  }

  ExitStatus End(StartedProcess& process) {
    for (int i = 0; i < 1000; ++i) {
      if (const auto ended = process.Poll()) return *ended;
      clock_.SleepNs(20'000'000);
    }
    ADD_FAILURE() << "still running after 20 s";
    return {};
  }

  bool Exists(int pid) { return kill(pid, 0) == 0; }
  void WaitForEnd(int pid) {
    for (int i = 0; i < 500 && Exists(pid); ++i) clock_.SleepNs(20'000'000);
    EXPECT_FALSE(Exists(pid));
  }

  SystemClock clock_;
  std::string folder_;
  std::unique_ptr<HostConnection> host_;
};

TEST_F(AgentTest, RunsAProcessStreamsItsOutputAndTellsItsEnd) {
  Connect();
  auto process =
      host_->StartProcess({.arguments = {"/bin/sh", "-c", "echo out $X; echo err >&2; exit 255"},
                           .log_path = folder_ + "/log",
                           .environment = {{"X", "y z"}}});
  ASSERT_TRUE(process.ok()) << process.status();
  const ExitStatus ended = End(**process);
  EXPECT_EQ(ended.code, 255);
  EXPECT_EQ(ended.unknown, "");
  EXPECT_EQ(os::ReadFile(folder_ + "/log").value(), "out y z\nerr\n");
}

TEST_F(AgentTest, MuchOutputArrivesWhole) {
  Connect();
  auto process = host_->StartProcess(
      {.arguments = {"/bin/sh", "-c", "head -c 9000000 /dev/zero"}, .log_path = folder_ + "/log"});
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_TRUE(End(**process).ok());
  EXPECT_EQ(fs::file_size(folder_ + "/log"), 9'000'000u);
}

TEST_F(AgentTest, ForwardsSignals) {
  Connect();
  auto process =
      host_->StartProcess({.arguments = {"/bin/sleep", "1000"}, .log_path = folder_ + "/log"});
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_FALSE((*process)->Poll().has_value());
  (*process)->Signal(SIGTERM);
  EXPECT_EQ(End(**process).signal, SIGTERM);
}

TEST_F(AgentTest, AProgramThatIsMissingIsNamedWithTheHost) {
  Connect();
  const auto process =
      host_->StartProcess({.arguments = {"/nowhere/worker"}, .log_path = folder_ + "/log"});
  EXPECT_THAT(process.status().message(), HasSubstr("host-1: cannot run /nowhere/worker"));
}

TEST_F(AgentTest, CopiesFilesBothWays) {
  Connect();
  const std::string content(3 << 20, 'c');
  ASSERT_TRUE(os::WriteFile(folder_ + "/a", content + "end").ok());
  ASSERT_TRUE(host_->PutFile(folder_ + "/a", folder_ + "/b", 0600).ok());
  ASSERT_TRUE(host_->GetFile(folder_ + "/b", folder_ + "/c").ok());
  EXPECT_EQ(os::ReadFile(folder_ + "/c").value(), content + "end");
  EXPECT_THAT(host_->GetFile(folder_ + "/none", folder_ + "/c").message(),
              HasSubstr(absl::StrCat("host-1: cannot read ", folder_, "/none")));
}

TEST_F(AgentTest, TheEndOfTheConnectionEndsProcessesAndRemovesTheRun) {
  Connect();
  const std::string run = Ask({{"do", "begin"}}).Text("directory");
  ASSERT_TRUE(fs::is_directory(run));
  auto process = host_->StartProcess(
      {.arguments = {"/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"},
       .log_path = folder_ + "/log"});
  ASSERT_TRUE(process.ok()) << process.status();
  const int pid = (*process)->pid();
  EXPECT_TRUE(Exists(pid));
  process->reset();
  host_.reset();
  EXPECT_FALSE(Exists(pid));
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(AgentTest, AStoppedProcessEndsTooAndALauncherThatIsSilentIsTakenForDead) {
  Connect(/*silence_s=*/0.3);  // it says that it lives once a second
  const std::string run = Ask({{"do", "begin"}}).Text("directory");
  auto process =
      host_->StartProcess({.arguments = {"/bin/sleep", "1000"}, .log_path = folder_ + "/log"});
  ASSERT_TRUE(process.ok()) << process.status();
  const int pid = (*process)->pid();
  kill(pid, SIGSTOP);
  WaitForEnd(pid);
  EXPECT_THAT(End(**process).Describe(), HasSubstr("the connection to the host host-1 is lost"));
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(AgentTest, EndLeavesTheConnectionForTheNextRun) {
  Connect();
  const std::string first = Ask({{"do", "begin"}}).Text("directory");
  auto process =
      host_->StartProcess({.arguments = {"/bin/sleep", "1000"}, .log_path = folder_ + "/log"});
  ASSERT_TRUE(process.ok()) << process.status();
  const int pid = (*process)->pid();
  Ask({{"do", "end"}});
  EXPECT_FALSE(Exists(pid));
  EXPECT_FALSE(fs::exists(first));
  const std::string second = Ask({{"do", "begin"}}).Text("directory");
  EXPECT_NE(first, second);
  EXPECT_TRUE(fs::is_directory(second));
}

TEST_F(AgentTest, AnAnswerThatComesTooLateIsNotTakenForTheNextOne) {
  Connect();
  Ask({{"do", "begin"}});
  auto process = host_->StartProcess(
      {.arguments = {"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"},
       .log_path = folder_ + "/log"});
  ASSERT_TRUE(process.ok()) << process.status();
  for (int i = 0; i < 500 && os::ReadFile(folder_ + "/log").value_or("").empty(); ++i) {
    clock_.SleepNs(20'000'000);
  }
  AgentMessage end;
  end.fields["do"] = "end";  // takes two seconds, since the process ignores SIGTERM
  const absl::Status late = host_->Request(end, /*timeout_s=*/0.1).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
  EXPECT_TRUE(fs::is_directory(Ask({{"do", "begin"}}).Text("directory")));
}

TEST_F(AgentTest, ARunWithoutAFolderIsRefused) {
  ConnectionOptions options;
  options.name = "host-1";
  options.command = {"/bin/sh", "-c",
                     absl::StrCat("echo ", kAgentFound, R"(; echo '{"is":"hello","sha256":""}';)",
                                  R"( echo '{"is":"answer","request":1}'; cat >/dev/null)")};
  auto host = HostConnection::Open(options, clock_);
  ASSERT_TRUE(host.ok()) << host.status();
  const absl::Status met = (*host)->Meet();
  ASSERT_TRUE(met.ok()) << met;
  const auto directory = (*host)->BeginRun();
  EXPECT_EQ(directory.status().code(), absl::StatusCode::kInternal) << directory.status();
  EXPECT_THAT(directory.status().message(), HasSubstr("host-1: the agent named no folder"));
}

TEST_F(AgentTest, SaysWhatItDoesNotKnow) {
  Connect();
  AgentMessage request;
  request.fields["do"] = "dance";
  EXPECT_THAT(host_->Request(request).status().message(), HasSubstr("no \"dance\""));
}

TEST_F(AgentTest, WhatSshSaysIsTheError) {
  ConnectionOptions options;
  options.name = "host-1";
  options.command = {"/bin/sh", "-c", "echo 'ann@host-1: Permission denied' >&2; exit 255"};
  auto host = HostConnection::Open(options, clock_);
  ASSERT_TRUE(host.ok());
  const absl::Status met = (*host)->Meet();
  EXPECT_EQ(met.message(), "host-1: ssh: ann@host-1: Permission denied");
}

TEST_F(AgentTest, AnotherKindOfMachineIsRefused) {
  ConnectionOptions options;
  options.name = "host-1";
  options.command = {"/bin/sh", "-c", absl::StrCat("echo ", kWrongMachine, "Linux riscv64")};
  auto host = HostConnection::Open(options, clock_);
  ASSERT_TRUE(host.ok());
  EXPECT_THAT((*host)->Meet().message(), HasSubstr("host-1: the machine is Linux riscv64"));
}

}  // namespace
}  // namespace crossover::experiments
