#include "experiments/hosts/ssh_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "experiments/machine.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Tail(const std::vector<std::string>& words, size_t count) {
  return {words.end() - static_cast<long>(count), words.end()};
}

TEST(SshArguments, EndWithTheAddressAndOneQuotedCommand) {
  HostSpec host;
  host.address = "node-1";
  host.user = "ann";
  host.port = 2222;
  const auto words = SshArguments(host, {}, {"/bin/sh", "-c", "it's; $x"});
  EXPECT_THAT(Tail(words, 7), ElementsAre("-l", "ann", "-p", "2222", "--", "node-1",
                                          "exec /bin/sh -c 'it'\\''s; $x'"));
  EXPECT_THAT(words, Contains("BatchMode=yes"));
  EXPECT_THAT(words, Contains("ControlPath=none"));
}

TEST(SshArguments, UsersOptionsComeFirstSinceSshTakesTheFirst) {
  HostSpec host;
  host.address = "a";
  const auto words = SshArguments(host, {"ConnectTimeout=1"}, {"true"});
  const auto user = std::find(words.begin(), words.end(), "ConnectTimeout=1");
  const auto ours = std::find(words.begin(), words.end(), "ConnectTimeout=10");
  EXPECT_LT(user, ours);
  EXPECT_NE(ours, words.end());
}

// The script itself, run by this machine's shell with a stand-in for the agent.
class Bootstrap : public testing::Test {
 protected:
  Bootstrap() : folder_(absl::StrCat(testing::TempDir(), "/boot strap's")) {
    EXPECT_TRUE(os::MakeDirectory(folder_).ok());
  }
  std::string Run(const std::string& input, const std::string& machine, const std::string& hash) {
    const std::string path = absl::StrCat(testing::TempDir(), "/input");
    EXPECT_TRUE(os::WriteFile(path, input).ok());
    const std::string agent = "#!/bin/sh\necho agent \"$1\" \"$2\"; cat\n";
    std::string line;
    for (const std::string& word :
         BootstrapCommand(folder_, hash, static_cast<int64_t>(agent.size()), machine, 20)) {
      absl::StrAppend(&line, QuoteForShell(word), " ");
    }
    EXPECT_TRUE(os::WriteFile(path, input.empty() ? "rest" : agent + "rest").ok());
    return OutputOf({"/bin/sh", "-c", absl::StrCat(line, " <", path)}).value_or("failed");
  }
  std::string folder_;
  const std::string machine_ = OutputOf({"uname", "-sm"}).value();
};

TEST_F(Bootstrap, TakesTheAgentOnceAndBecomesIt) {
  const std::string became = absl::StrCat("agent ", folder_, " 20\nrest");
  EXPECT_EQ(Run("with agent", machine_, "aa"), absl::StrCat(kAgentNeeded, "\n", became));
  EXPECT_EQ(Run("", machine_, "aa"), absl::StrCat(kAgentFound, "\n", became));
}

TEST_F(Bootstrap, RefusesAnotherKindOfMachine) {
  EXPECT_EQ(Run("with agent", "Plan9 mips", "bb"), absl::StrCat(kWrongMachine, machine_));
}

}  // namespace
}  // namespace crossover::experiments
