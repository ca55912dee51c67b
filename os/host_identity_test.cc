#include "os/host_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace crossover::os {
namespace {

constexpr int kCannot = 77;

// What a child process comes to.
int InChild(const std::function<int()>& work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(HostIdentityTest, ProcessesOfOneHostHaveItInCommon) {
  const std::optional<uint64_t> ours = HostIdentity();
  ASSERT_TRUE(ours.has_value());
  EXPECT_EQ(HostIdentity(), ours);
  EXPECT_EQ(InChild([&] { return HostIdentity() == ours ? 0 : 1; }), 0);
}

// Whether a process that enters a new namespace of this kind gets another identity: 0 or 1. A user
// namespace first, since others are not everyone's to make; it makes another user of us.
int ChangesIn(int kind_of_namespace) {
  return InChild([&] {
    if (unshare(CLONE_NEWUSER) != 0) return kCannot;
    const std::optional<uint64_t> before = HostIdentity();
    if (!before || unshare(kind_of_namespace) != 0) return kCannot;
    return HostIdentity() == before ? 0 : 1;
  });
}

TEST(HostIdentityTest, AnotherNetworkNamespaceIsAnotherHost) {
  const int changes = ChangesIn(CLONE_NEWNET);
  if (changes == kCannot) GTEST_SKIP() << "this system makes no namespaces";
  EXPECT_EQ(changes, 1);
}

TEST(HostIdentityTest, AMountNamespaceIsNoOtherHost) {
  const int changes = ChangesIn(CLONE_NEWNS);
  if (changes == kCannot) GTEST_SKIP() << "this system makes no namespaces";
  EXPECT_EQ(changes, 0);
}

TEST(HostIdentityTest, AnotherUserSharesNoMemory) {
  const std::optional<uint64_t> ours = HostIdentity();
  const int code = InChild([&] {
    // In a namespace of its own a process is nobody until it is told who it is.
    const uid_t before = geteuid();
    if (unshare(CLONE_NEWUSER) != 0 || geteuid() == before) return kCannot;
    return HostIdentity() == ours ? 1 : 0;
  });
  if (code == kCannot) GTEST_SKIP() << "this system makes no namespaces";
  EXPECT_EQ(code, 0);
}

TEST(BootIdTest, IsOfTheMachineWhateverNamespaceAProcessIsIn) {
  const std::string ours = BootId();
  EXPECT_THAT(ours, testing::ContainsRegex("^[0-9a-f]+-[0-9a-f-]+\n?$"));
  const int code = InChild([&] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return kCannot;
    return BootId() == ours ? 0 : 1;
  });
  if (code == kCannot) GTEST_SKIP() << "this system makes no namespaces";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace crossover::os
