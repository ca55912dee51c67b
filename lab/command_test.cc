#include "lab/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "absl/status/status.h"

namespace crossover::lab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CommandTest, GivesTheOutputAndPassesTheInput) {
  EXPECT_EQ(RunCommand({"echo", "a b", "$HOME"}).value(), "a b $HOME\n");
  EXPECT_EQ(RunCommand({"cat"}, "one\ntwo\n").value(), "one\ntwo\n");
  EXPECT_EQ(RunCommand({"true"}).value(), "");
}

TEST(CommandTest, ErrorsCarryWhatTheProgramSaid) {
  const absl::Status failed = RunCommand({"ls", "/no/such/folder"}).status();
  EXPECT_THAT(std::string(failed.message()),
              AllOf(HasSubstr("`ls /no/such/folder` failed with code 2"),
                    HasSubstr("No such file or directory")));
  EXPECT_THAT(std::string(RunCommand({"false"}).status().message()), HasSubstr("it said nothing"));
  const absl::Status missing = RunCommand({"no-such-program"}).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("no-such-program"));
  const absl::Status killed = RunCommand({"sh", "-c", "kill -9 $$"}).status();
  EXPECT_THAT(std::string(killed.message()), HasSubstr("signal 9"));
}

TEST(CommandTest, WaitsNoLongerThanAsked) {
  const absl::StatusOr<pid_t> cat = Spawn({"sleep", "60"}, -1, -1, -1);
  ASSERT_TRUE(cat.ok()) << cat.status();
  EXPECT_FALSE(WaitForEnd(*cat, 1));
  ASSERT_EQ(kill(*cat, SIGKILL), 0);
  EXPECT_TRUE(WaitForEnd(*cat, 10'000));
  EXPECT_EQ(waitpid(*cat, nullptr, 0), *cat);
}

}  // namespace
}  // namespace crossover::lab
