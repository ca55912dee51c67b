#include "experiments/launch/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "experiments/launch/signal_waiter.h"

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

TEST(ChildProcess, ReadsAndWritesWhereItIsTold) {
  SignalWaiter signals;
  int input[2];
  int output[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(output, O_CLOEXEC), 0);
  const std::vector<std::string> arguments = {"/bin/sh", "-c", "cat; echo err >&2"};
  auto apart = ChildProcess::Start({.arguments = arguments,
                                    .log_path = LogPath("apart.log"),
                                    .input_fd = input[0],
                                    .output_fd = output[1]});
  ASSERT_TRUE(apart.ok()) << apart.status();
  ASSERT_EQ(write(input[1], "in\n", 3), 3);
  close(input[1]);
  EXPECT_TRUE(WaitFor(*apart, signals).ok());
  auto together = ChildProcess::Start({.arguments = arguments, .output_fd = output[1]});
  ASSERT_TRUE(together.ok()) << together.status();
  EXPECT_TRUE(WaitFor(*together, signals).ok());
  char text[16] = {};
  EXPECT_GT(read(output[0], text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "in\nerr\n");
  EXPECT_EQ(ReadFile(LogPath("apart.log")), "err\n");
  for (const int fd : {input[0], output[0], output[1]}) close(fd);
}

TEST(ChildProcess, WhatIsNotKnownOfAnEndIsNoSuccess) {
  ExitStatus ended;
  EXPECT_TRUE(ended.ok());
  ended.unknown = "cannot be watched";
  EXPECT_FALSE(ended.ok());
  EXPECT_EQ(ended.Describe(), "cannot be watched");
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
