// comm_test with real processes: what it measures is right and written down, and whatever ends a
// rank or the test leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/comm/local_ranks.h"
#include "bench/comm/record.h"
#include "bench/comm_fixture.h"
#include "experiments/launch/child_process.h"
#include "net/rendezvous_server.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

using experiments::ChildProcess;
using testing::HasSubstr;

class Transports : public CommTest, public testing::WithParamInterface<const char*> {};

TEST_P(Transports, MeasuresChecksAndWritesLines) {
  const std::string json = directory_ + "/lines.jsonl";
  ChildProcess child =
      Start({"--local_ranks=2", "--sizes=4K,256K", "--iterations=2", "--limits=false",
             absl::StrCat("--transport=", GetParam()), "--json=" + json});
  ASSERT_EQ(Wait(child), 0) << Log();
  const std::vector<Record> records = Lines(json);
  ASSERT_EQ(records.size(), 4);
  for (const Record& record : records) {
    EXPECT_EQ(record.library, "crossover");
    EXPECT_EQ(record.transport, GetParam());
    EXPECT_EQ(record.op, "all_reduce");
    EXPECT_EQ(record.ranks, 2);
    EXPECT_EQ(record.wrong, 0);
    EXPECT_GT(record.time_us, 0);
    EXPECT_GT(record.cpu_us, 0);
    EXPECT_EQ(record.rank_time_us.size(), 2);
  }
  EXPECT_EQ(records.back().bytes, 256 << 10);
  EXPECT_THAT(Log(), HasSubstr("Latency"));
  EXPECT_THAT(Log(), HasSubstr("Bandwidth"));
}
INSTANTIATE_TEST_SUITE_P(All, Transports,
                         testing::Values("tcp", "shared_memory", "grpc", "inproc"));

TEST_F(CommTest, LimitsAreMeasuredInTheSameRunAndCostsFitted) {
  const std::string json = directory_ + "/limits.jsonl";
  const std::string fit = directory_ + "/fit.jsonl";
  ChildProcess child =
      Start({"--local_ranks=2", "--sizes=4K,1M", "--iterations=1", "--transport=tcp",
             "--algorithm=ring", "--json=" + json, "--fit=" + fit});
  ASSERT_EQ(Wait(child), 0) << Log();
  EXPECT_THAT(os::ReadFile(fit).value_or(""), HasSubstr("\"alpha_us\":"));
  std::vector<std::string> limits;
  for (const Record& record : Lines(json)) {
    if (record.library != "limit") continue;
    limits.push_back(record.algorithm);
    EXPECT_GT(record.busbw_GBps, 0) << record.algorithm;
  }
  EXPECT_THAT(limits, testing::ElementsAre("memcpy", "one_pair", "all_duplex"));
}

TEST_F(CommTest, AFitChoosesTheAlgorithm) {
  const std::string json = directory_ + "/lines.jsonl";
  const std::string fit = directory_ + "/fit.jsonl";
  // Steps that cost nothing beside bytes, and the other way round.
  const std::pair<const char*, const char*> cases[] = {
      {"\"alpha_us\":1e-3,\"message_us\":0,\"beta_us_per_byte\":1", "ring"},
      {"\"alpha_us\":1e6,\"message_us\":1e6,\"beta_us_per_byte\":1e-6", "recursive_doubling"}};
  for (const auto& [constants, algorithm] : cases) {
    ASSERT_TRUE(os::WriteFile(fit, absl::StrCat("{\"network\":\"\",\"transport\":\"tcp\",",
                                                constants, ",\"gamma_us_per_byte\":0}\n"))
                    .ok());
    ChildProcess child =
        Start({"--local_ranks=4", "--sizes=256K", "--iterations=1", "--in_place=in",
               "--limits=false", "--transport=tcp", "--json=" + json, "--use_fit=" + fit});
    ASSERT_EQ(Wait(child), 0) << Log();
    const auto records = ReadRecords(*os::ReadFile(json));
    ASSERT_TRUE(records.ok()) << records.status();
    ASSERT_EQ(records->size(), 1);
    EXPECT_EQ(records->front().algorithm, algorithm);
  }
  ASSERT_TRUE(os::WriteFile(fit, "{\"alpha_us\":").ok());
  ChildProcess child = Start({"--use_fit=" + fit});
  EXPECT_EQ(Wait(child), 1);
  EXPECT_THAT(Log(), HasSubstr(fit + ":1: "));
}

TEST_F(CommTest, RefusesBadFlagsWithTheFix) {
  const std::pair<const char*, const char*> cases[] = {
      {"--size=4K", "--size: unknown flag (did you mean --sizes?)"},
      {"--rank=0", "--world_size: missing"},
      {"--peers=nccl", "allowed: gloo, openmpi"},
      {"--peers=gloo", "Gloo does not use shared memory; fix: --transport=tcp"},
      {"--network=1gbut", "--network: "},
      {"--ranks_per_node=2", "--ranks_per_node: goes with --network"},
      {"--target=speed", "--target=speed: no speed; allowed: all, tcp_bandwidth"},
      {"--op=all_to_all", "--op=all_to_all: not known; allowed: all_reduce"},
      {"--type=fp8", "--type=fp8: not known; allowed: fp32"},
      {"--reduce=product", "--reduce=product: not known; allowed: sum"},
      {"--sizes=many", "--sizes: "},
      {"--in_place=no", "--in_place=no: not known; allowed: both, in, out"},
      {"--algorithm=magic", "--algorithm=magic: not known; allowed: "},
      {"--transport=udp", "--transport=udp: not known; allowed: auto"},
      {"--buffers=mine", "--buffers=mine: not known; allowed: private, shared"},
      {"--iterations=-1", "--iterations"},
      {"--budget_s=nan", "--budget_s"},
      {"tcp", "'tcp': not a flag"}};
  for (const auto& [flag, expected] : cases) {
    ChildProcess child = Start({flag});
    EXPECT_EQ(Wait(child), 1) << flag;
    EXPECT_THAT(Log(), HasSubstr(expected));
  }
  for (const char* flag : {"--network=1gbit", "--hosts=hosts"}) {
    ChildProcess child = Start({flag, "--transport=inproc"});
    EXPECT_EQ(Wait(child), 1) << flag;
    EXPECT_THAT(Log(), HasSubstr("--transport=inproc: its ranks are threads of one process"));
  }
  ChildProcess child = Start({"--target=cpu", "--type=fp16"});
  EXPECT_EQ(Wait(child), 1);
  EXPECT_THAT(Log(), HasSubstr("--target: its rows say what is measured and how; fix: leave out "
                               "--type=fp16"));
}

TEST_F(CommTest, AKilledRankIsNamed) {
  LocalOptions options;
  options.plan.sizes = {4 << 20};
  options.plan.iterations = 1'000'000;
  options.plan.limits = false;
  options.plan.transport = Transport::kTcp;
  options.ranks = 3;
  options.directory = directory_;
  options.binary = binary_;
  std::vector<int> pids;
  std::thread killer;
  options.on_started = [&](const std::vector<int>& started) {
    pids = started;
    killer = std::thread([this, pid = started[1]] {
      clock_.SleepNs(1'500'000'000);
      kill(pid, SIGKILL);
    });
  };
  const auto records = RunLocalRanks(options, signals_, clock_);
  killer.join();
  ASSERT_FALSE(records.ok());
  EXPECT_THAT(std::string(records.status().message()),
              testing::AllOf(HasSubstr("worker 1 at 127.0.0.1:"),
                             HasSubstr("rank 1 was killed by signal 9")));
  for (const int pid : pids) EXPECT_FALSE(Lives(pid));
}

TEST_F(CommTest, ASignalLeavesNothingRunning) {
  for (const int signal : {SIGINT, SIGTERM}) {
    ChildProcess child = Start({"--local_ranks=2", "--sizes=4M", "--iterations=1000000",
                                "--transport=tcp", "--limits=false"});
    const std::vector<pid_t> ranks = {RankOf(child, 0), RankOf(child, 1)};
    signals_.Wait(1);
    child.Signal(signal);
    EXPECT_EQ(Wait(child), 128 + signal) << Log();
    EXPECT_TRUE(AreGone(ranks, 0));
  }
}

// Lines of --json that claim what cannot be.
TEST_F(CommTest, LinesThatCannotBeTrueAreRefused) {
  Record record;
  record.library = "crossover";
  record.transport = "tcp";
  record.algorithm = "ring";
  record.op = "all_reduce";
  record.network = "1gbit";
  record.ranks = 2;
  record.bytes = 64 << 20;
  const std::string path = directory_ + "/lines.jsonl";
  const auto judge = [&](double time_us, int64_t wrong) {
    record.time_us = time_us;
    record.wrong = wrong;
    SetRates(record);
    EXPECT_TRUE(os::WriteFile(path, WriteRecord(record) + "\n").ok());
    ChildProcess child = Start({"--from=" + path});
    return Wait(child);
  };
  // 64 MiB at 117.7 MB/s last 570 ms.
  EXPECT_EQ(judge(571'000, 0), 0) << Log();
  EXPECT_THAT(Log(), HasSubstr("64M"));
  EXPECT_EQ(judge(285'000, 0), 1);
  EXPECT_THAT(Log(), HasSubstr("impossible: crossover ring, all_reduce of 64M"));
  EXPECT_EQ(judge(571'000, 1), 1);
  EXPECT_THAT(Log(), HasSubstr("1 wrong elements"));
}

TEST_F(CommTest, FilesThatCannotBeReadOrWrittenAreNamed) {
  const std::string garbage = directory_ + "/garbage";
  ASSERT_TRUE(os::WriteFile(garbage, "{\"library\":7}\n").ok());
  const std::string servers = directory_ + "/servers";
  ASSERT_TRUE(os::WriteFile(servers, "127.0.0.1 role=server\n").ok());
  const std::string empty = directory_ + "/empty";
  ASSERT_TRUE(os::WriteFile(empty, "").ok());
  const std::string full = directory_ + "/full";
  ASSERT_EQ(symlink("/dev/full", full.c_str()), 0);
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--from=/nowhere/lines"}, "cannot read /nowhere/lines: No such file"},
      {{"--from=" + garbage}, garbage + ": "},
      {{"--from=" + empty}, "--from=" + empty + ": no line of --json"},
      {{"--hosts=/nowhere/hosts"}, "--hosts: cannot read /nowhere/hosts"},
      {{"--hosts=" + servers}, absl::StrCat("--hosts=", servers, ": no host for ranks")},
      {{"--json=/nowhere/lines"}, "cannot write /nowhere/lines: No such file"},
      {{"--json=" + full, "--sizes=4K", "--iterations=1", "--limits=false"},
       absl::StrCat("cannot write ", full, ": No space left on device")},
      {{"--fit=/nowhere/fit", "--sizes=4K", "--iterations=1", "--limits=false",
        "--transport=shared_memory"},
       "cannot write /nowhere/fit: No such file"}};
  for (const auto& [flags, expected] : cases) {
    ChildProcess child = Start(flags);
    EXPECT_EQ(Wait(child), 1) << flags.front();
    EXPECT_THAT(Log(), HasSubstr(expected));
  }
}

double CpuSeconds(pid_t pid) {
  const std::string stat = os::ReadFile(absl::StrCat("/proc/", pid, "/stat")).value_or("");
  // After the name: the state, ten more fields, user and system time.
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(stat.rfind(')') + 1), ' ');
  if (fields.size() < 14) return 0;
  const int64_t ticks = std::stoll(fields[12]) + std::stoll(fields[13]);
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Ranks that somebody at a terminal starts, one by one.
class ByHand : public CommTest {
 protected:
  ByHand() : address_(FreeAddress()) {
    EXPECT_TRUE(
        os::WriteFile(directory_ + "/token", "0123456789abcdef0123456789abcdef\n", 0600).ok());
  }
  // Free for a moment only: another program could take it, and the test would fail.
  std::string FreeAddress() {
    net::RendezvousServer::Options options;
    options.identity.token = "0123456789abcdef0123456789abcdef";
    const auto server = net::RendezvousServer::Start(options, clock_);
    EXPECT_TRUE(server.ok()) << server.status();
    return (*server)->address();
  }
  ChildProcess StartRank(int rank, std::vector<std::string> more) {
    more.insert(more.end(),
                {absl::StrCat("--rank=", rank), "--world_size=2", "--rendezvous=" + address_,
                 absl::StrCat("--token_file=", directory_, "/token"), "--transport=tcp"});
    return Start(more, absl::StrCat("log-", rank));
  }
  // Both, in the middle of a size that takes for ever.
  std::pair<ChildProcess, ChildProcess> StartBoth() {
    const std::vector<std::string> flags = {"--sizes=4M", "--iterations=1000000", "--limits=false"};
    std::pair<ChildProcess, ChildProcess> both = {StartRank(0, flags), StartRank(1, flags)};
    // Starting takes a fraction of this, measuring all of the time there is.
    for (int i = 0; i < 300 && CpuSeconds(both.first.pid()) < 0.5; ++i) signals_.Wait(0.1);
    EXPECT_FALSE(both.first.Poll().has_value()) << Log("log-0");
    EXPECT_FALSE(both.second.Poll().has_value()) << Log("log-1");
    return both;
  }

  const std::string address_;
};

TEST_F(ByHand, RanksMeetAndRankZeroShowsAndWrites) {
  const std::string json = directory_ + "/lines.jsonl";
  const std::vector<std::string> flags = {"--sizes=4K,1M", "--iterations=2", "--limits=false",
                                          "--json=" + json};
  ChildProcess second = StartRank(1, flags);
  ChildProcess first = StartRank(0, flags);
  EXPECT_EQ(Wait(first), 0) << Log("log-0");
  EXPECT_EQ(Wait(second), 0) << Log("log-1");
  EXPECT_THAT(Log("log-0"), HasSubstr("Bandwidth"));
  EXPECT_THAT(Log("log-1"), testing::Not(HasSubstr("Bandwidth")));
  EXPECT_EQ(Lines(json).size(), 4);  // two sizes in two places
}

TEST_F(ByHand, RanksThatMeasureSomethingElseSeeBothSides) {
  ChildProcess first = StartRank(0, {"--sizes=4K"});
  ChildProcess second = StartRank(1, {"--sizes=8K"});
  EXPECT_EQ(Wait(second), 1);
  EXPECT_EQ(Wait(first), 1);
  for (const char* log : {"log-0", "log-1"}) {
    EXPECT_THAT(Log(log), HasSubstr("rank 0 has --sizes=4K and rank 1 --sizes=8K"));
  }
}

TEST_F(ByHand, AKilledRankEndsTheOtherWhichNamesIt) {
  auto [first, second] = StartBoth();
  second.Signal(SIGKILL);
  EXPECT_EQ(Wait(first), 1);
  EXPECT_THAT(Log("log-0"), HasSubstr("rank 0: worker 1 at 127.0.0.1:"));
}

TEST_F(ByHand, ASignalEndsAllRanksAndSaysWho) {
  auto [first, second] = StartBoth();
  first.Signal(SIGTERM);
  EXPECT_EQ(Wait(first), 128 + SIGTERM);
  EXPECT_EQ(Wait(second), 1);
  EXPECT_THAT(Log("log-1"), testing::AllOf(HasSubstr("worker 0 at 127.0.0.1:"),
                                           HasSubstr("told to stop by signal 15")));
}

}  // namespace
}  // namespace crossover::bench
