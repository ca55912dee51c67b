#include "bench/comm/results.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "os/files.h"
#include "os/host_identity.h"

namespace crossover::bench {
namespace {

Record Line(const std::string& transport, const std::string& algorithm, int64_t bytes) {
  Record record;
  record.library = "crossover";
  record.transport = transport;
  record.algorithm = algorithm;
  record.op = "all_reduce";
  record.ranks = 2;
  record.bytes = bytes;
  record.time_us = 10 + 1e-3 * static_cast<double>(bytes);
  SetRates(record);
  return record;
}

TEST(Results, TablesThatCannotBeWrittenAreAnError) {
  Results results("");
  results.Take(Line("tcp", "ring", 4096));
  EXPECT_TRUE(results.Report("").ok());
  std::fflush(stdout);
  const int terminal = dup(STDOUT_FILENO);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  dup2(full, STDOUT_FILENO);
  const absl::Status status = results.Report("");
  dup2(terminal, STDOUT_FILENO);
  close(full);
  close(terminal);
  EXPECT_EQ(std::string(status.message()),
            "cannot write to standard output: No space left on device");
}

TEST(Results, LinesAndFitNameTheMachine) {
  const std::string path = testing::TempDir() + "/host_fit.jsonl";
  Results results("");
  Record elsewhere = Line("tcp", "ring", 4096);
  elsewhere.host = "elsewhere";
  results.Take(elsewhere);
  results.Take(Line("tcp", "ring", 1 << 20));
  const std::string here = os::HostName();
  EXPECT_EQ(results.records()[0].host, "elsewhere");
  EXPECT_EQ(results.records()[1].host, here);
  ASSERT_TRUE(results.Report(path).ok());
  const std::string text = os::ReadFile(path).value_or("");
  EXPECT_NE(text.find("elsewhere"), std::string::npos) << text;
  EXPECT_NE(text.find(here), std::string::npos) << text;
}

TEST(Results, AFitOfNothingLeavesTheFileAsItWas) {
  const std::string path = testing::TempDir() + "/fit.jsonl";
  ASSERT_TRUE(os::WriteFile(path, "an earlier one\n").ok());
  Results results("");
  results.Take(Line("shared_memory", "staged", 4096));
  EXPECT_TRUE(results.Begin(path).ok());
  EXPECT_NE(results.Report(path).message().find("nothing to fit"), absl::string_view::npos);
  EXPECT_EQ(os::ReadFile(path).value_or(""), "an earlier one\n");
  results.Take(Line("tcp", "ring", 4096));
  results.Take(Line("tcp", "ring", 1 << 20));
  EXPECT_TRUE(results.Report(path).ok());
  EXPECT_NE(os::ReadFile(path).value_or("").find("\"transport\":\"tcp\""), std::string::npos);
  // A line that cannot be true makes no fit.
  Record wrong = Line("tcp", "ring", 4096);
  wrong.wrong = 1;
  results.Take(wrong);
  ASSERT_TRUE(os::WriteFile(path, "an earlier one\n").ok());
  EXPECT_FALSE(results.Report(path).ok());
  EXPECT_EQ(os::ReadFile(path).value_or(""), "an earlier one\n");
}

TEST(Results, WrongPathsAreFoundBeforeAnythingIsMeasured) {
  EXPECT_EQ(std::string(Results("").Begin("/nowhere/fit").message()),
            "cannot write /nowhere/fit: No such file or directory");
  EXPECT_EQ(std::string(Results("/nowhere/lines").Begin("").message()),
            "cannot write /nowhere/lines: No such file or directory");
}

}  // namespace
}  // namespace crossover::bench
