#include "bench/comm/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string Error(const std::vector<std::string>& words) {
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  std::vector<const char*> argv = {"comm_test"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const auto parsed = flags.Parse(static_cast<int>(argv.size()), argv.data());
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return std::string(CheckArguments(arguments, *parsed, words).message());
}

TEST(CheckArgumentsTest, WhatGoesTogetherIsTaken) {
  const std::vector<std::string> taken[] = {
      {},
      {"--local_ranks=4", "--network=1gbit", "--ranks_per_node=2", "--op=barrier", "--json=lines"},
      {"--peers", "--peers_dir=peers", "--rounds=9", "--fit=fit", "--use_fit=fit"},
      {"--target=all", "--budget_s=1", "--rounds=3", "--peers_dir=peers", "--json=lines"},
      {"--hosts=hosts", "--local_ranks=2", "--rounds=2", "--ssh-option=Port=1", "--ssh-option=x=1",
       "--remote-dir=d", "--launcher-interface=lo", "--interface=lo", "--sizes=4K"},
      {"--rank=0", "--world_size=2", "--rendezvous=h:1", "--rendezvous_host=launcher",
       "--token_file=t", "--interface=lo", "--listen=h:0", "--json=lines", "--fit=fit", "--costs="},
      {"--from=lines", "--target=all", "--fit=fit"}};
  for (const std::vector<std::string>& words : taken) EXPECT_EQ(Error(words), "");
}

TEST(CheckArgumentsTest, WhatWouldBeIgnoredIsRefusedWithTheFix) {
  for (const char* word : {"--op=barrier", "--json=lines", "--rank=0", "--hosts=hosts", "--peers",
                           "--rounds=3", "--use_fit=fit", "--budget_s=1", "--local_ranks=4"}) {
    const std::string other = word == std::string("--rank=0") ? "--world_size=2" : "--fit=fit";
    EXPECT_THAT(Error({"--from=lines", word, other}),
                AllOf(StartsWith("--from: it measures nothing; fix: leave out --")));
  }
  for (const char* word : {"--local_ranks=4", "--network=1gbit", "--ranks_per_node=2", "--rounds=1",
                           "--peers", "--peers_dir=d", "--target=cpu", "--hosts=h",
                           "--ssh-option=x", "--remote-dir=d", "--launcher-interface=lo"}) {
    EXPECT_THAT(Error({"--rank=0", "--world_size=2", word}),
                AllOf(StartsWith("--rank: a rank that was started by hand measures once"),
                      HasSubstr(std::string("fix: leave out ") + word)));
  }
  for (const char* word : {"--type=fp32", "--local_ranks=4", "--network=1gbit", "--peers=gloo",
                           "--ranks_per_node=2", "--use_fit=fit", "--transport=tcp"}) {
    EXPECT_EQ(
        Error({"--target=cpu", word}),
        std::string("--target: its rows say what is measured and how; fix: leave out ") + word);
  }
  for (const char* word : {"--network=1gbit", "--peers", "--target=cpu", "--peers_dir=d",
                           "--ranks_per_node=2", "--listen=h:0"}) {
    EXPECT_THAT(Error({"--hosts=h", word}),
                AllOf(StartsWith("--hosts: "), HasSubstr(std::string("leave out ") + word)));
  }
}

TEST(CheckArgumentsTest, AnEmptyValueIsNoValue) {
  for (const char* word : {"--json=", "--fit=", "--use_fit=", "--network=", "--peers=", "--from=",
                           "--hosts=", "--rank="}) {
    EXPECT_EQ(Error({word}), std::string(word) + ": no value; fix: leave it out, or say which");
  }
  EXPECT_EQ(Error({"--congestion_control="}), "");
}

TEST(CheckArgumentsTest, AFitByWhichNothingIsChosenIsRefused) {
  for (const char* word : {"--transport=shared_memory", "--algorithm=ring", "--costs=1,1,1,1"}) {
    EXPECT_THAT(Error({"--use_fit=fit", word}), HasSubstr(std::string("beside ") + word));
  }
}

TEST(CheckArgumentsTest, NodesOfTheLabShareNoMemory) {
  EXPECT_THAT(Error({"--network=1gbit", "--transport=shared_memory"}),
              HasSubstr("nodes share no memory"));
}

TEST(CheckArgumentsTest, WhatNeedsAnotherFlagNamesIt) {
  EXPECT_EQ(Error({"--listen=h:0"}),
            "--listen=h:0: means nothing without --rank; fix: leave it out");
  EXPECT_EQ(Error({"--remote-dir=d"}),
            "--remote-dir=d: means nothing without --hosts; fix: leave it out");
  EXPECT_THAT(Error({"--peers_dir=d"}), StartsWith("--peers_dir: goes with --peers or --target"));
  EXPECT_THAT(Error({"--rank=0"}), StartsWith("--world_size: missing"));
  EXPECT_THAT(Error({"--world_size=2"}), StartsWith("--rank: missing"));
  EXPECT_THAT(Error({"--ranks_per_node=2"}), StartsWith("--ranks_per_node: goes with --network"));
}

}  // namespace
}  // namespace crossover::bench
