#include "experiments/child_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "experiments/signal_waiter.h"

namespace crossover::experiments {
namespace {

std::string LogPath(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

ExitStatus WaitFor(ChildProcess& child, SignalWaiter& signals) {
  while (true) {
    if (std::optional<ExitStatus> ended = child.Poll()) return *ended;
    signals.Wait(0.5);
  }
}

TEST(ChildProcess, LogsItsOutputAndTellsItsExitCode) {
  SignalWaiter signals;
  auto child =
      ChildProcess::Start({.arguments = {"/bin/sh", "-c", "echo out $X; echo err >&2; exit 3"},
                           .log_path = LogPath("output.log"),
                           .environment = {{"X", "7"}}});
  ASSERT_TRUE(child.ok()) << child.status();
  const ExitStatus ended = WaitFor(*child, signals);
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.Describe(), "exited with code 3");
  EXPECT_FALSE(ended.ok());
  EXPECT_EQ(ReadFile(LogPath("output.log")), "out 7\nerr\n");
}

TEST(ChildProcess, TellsTheSignalThatKilledIt) {
  SignalWaiter signals;
  auto child = ChildProcess::Start(
      {.arguments = {"/bin/sleep", "100"}, .log_path = LogPath("killed.log"), .environment = {}});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_FALSE(child->Poll().has_value());
  child->Signal(SIGKILL);
  EXPECT_EQ(WaitFor(*child, signals).Describe(), "was killed by signal 9 (Killed)");
}

TEST(ChildProcess, StartsWithoutBlockedSignals) {
  SignalWaiter signals;  // blocks SIGTERM here
  auto child = ChildProcess::Start(
      {.arguments = {"/bin/sleep", "100"}, .log_path = LogPath("term.log"), .environment = {}});
  ASSERT_TRUE(child.ok()) << child.status();
  child->Signal(SIGTERM);
  EXPECT_EQ(WaitFor(*child, signals).signal, SIGTERM);
}

TEST(ChildProcess, DestructionKillsIt) {
  pid_t pid = 0;
  {
    auto child = ChildProcess::Start(
        {.arguments = {"/bin/sleep", "100"}, .log_path = LogPath("gone.log"), .environment = {}});
    ASSERT_TRUE(child.ok()) << child.status();
    pid = child->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(ChildProcess, SaysWhatCannotBeRun) {
  auto child = ChildProcess::Start(
      {.arguments = {"/nowhere/worker"}, .log_path = LogPath("none.log"), .environment = {}});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.status().message(), "cannot run /nowhere/worker: No such file or directory");
}

TEST(ChildProcess, SaysWhichLogCannotBeWritten) {
  auto child = ChildProcess::Start(
      {.arguments = {"/bin/true"}, .log_path = "/nowhere/x.log", .environment = {}});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.status().message(),
            "cannot write the log /nowhere/x.log: No such file or directory");
}

}  // namespace
}  // namespace crossover::experiments
