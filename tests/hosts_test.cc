// compare --hosts over real ssh (tests/ssh_hosts.h). Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"
#include "os/files.h"
#include "tests/cluster_fixture.h"
#include "tests/ssh_hosts.h"

namespace crossover::tests {
namespace {

using experiments::ChildProcess;
using experiments::ExitStatus;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace fs = std::filesystem;

constexpr int kHosts = 3;

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_no_hosts = WhyNoSshHosts();
    if (!why_no_hosts.empty()) GTEST_SKIP() << why_no_hosts;
    directory_ = absl::StrCat(testing::TempDir(), "/hosts-",
                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    auto hosts = SshHosts::Up(kHosts, directory_);
    ASSERT_TRUE(hosts.ok()) << hosts.status();
    hosts_ = *std::move(hosts);
    job_ = SmallJob(MakeSmallData(1200));
    job_.set_workers(2);
    job_.set_servers(1);
    job_.mutable_comparison()->set_repetitions(1);
    job_.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
  }
  void TearDown() override {
    if (hosts_ == nullptr) return;
    EXPECT_EQ(hosts_->Down(), absl::OkStatus());
  }

  void StartSshd(int host, const std::string& key = "key", const std::string& before = "") {
    ASSERT_EQ(hosts_->StartSshd(host, key, before), absl::OkStatus());
  }
  void StartAllSshds() { ASSERT_EQ(hosts_->StartAllSshds(), absl::OkStatus()); }

  std::string Address(int host) const { return hosts_->Address(host); }
  // Two workers and a server, each on a host of its own.
  std::string HostsFile() const {
    return absl::StrCat(Address(0), "\n", Address(1), "\n", Address(2), " role=server\n");
  }

  ChildProcess StartCompare(const std::string& hosts, std::vector<std::string> more = {}) {
    EXPECT_TRUE(os::WriteFile(directory_ + "/hosts", hosts).ok());
    EXPECT_TRUE(os::WriteFile(directory_ + "/job.textproto", PrintJob(job_)).ok());
    std::vector<std::string> arguments = {"experiments/compare", "--hosts=hosts", "--out=out",
                                          "--remote-dir=" + hosts_->remote_dir(),
                                          directory_ + "/job.textproto"};
    for (const std::string& option : hosts_->ssh_options())
      more.push_back("--ssh-option=" + option);
    arguments.insert(arguments.end() - 1, more.begin(), more.end());
    auto child = ChildProcess::Start({.arguments = arguments,
                                      .log_path = directory_ + "/log",
                                      .network_namespace = hosts_->launcher_namespace(),
                                      .environment = {{"BUILD_WORKING_DIRECTORY", directory_}}});
    EXPECT_TRUE(child.ok()) << child.status();
    return *std::move(child);
  }
  ExitStatus End(ChildProcess& child) {
    const int64_t deadline_ns = clock_.NowNs() + int64_t{180'000'000'000};
    while (clock_.NowNs() < deadline_ns) {
      if (const auto ended = child.Poll()) return *ended;
      signals_.Wait(0.1);
    }
    ADD_FAILURE() << "still running after three minutes: " << Log();
    return {};
  }
  std::string Log() const { return os::ReadFile(directory_ + "/log").value_or(""); }
  std::vector<nlohmann::json> Results() const {
    std::vector<nlohmann::json> results;
    std::istringstream lines(os::ReadFile(directory_ + "/out/results.jsonl").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      results.push_back(nlohmann::json::parse(line));
    }
    return results;
  }

  void ExpectNothingIsLeft(double within_s) {
    const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(within_s * 1e9);
    while ((!hosts_->Running().empty() || !hosts_->FilesOfRuns().empty()) &&
           clock_.NowNs() < deadline_ns) {
      signals_.Wait(0.2);
    }
    EXPECT_THAT(hosts_->Running(), IsEmpty());
    EXPECT_THAT(hosts_->FilesOfRuns(), IsEmpty());
    EXPECT_FALSE(fs::exists(directory_ + "/out/runs/001-ps_sync-mlp-r1/token"));
    EXPECT_FALSE(fs::exists(directory_ + "/out/runs/001-ps_sync-mlp-r1/tls.pem"));
  }
  // Starts a run that would last for long and waits until it trains.
  ChildProcess StartTraining() {
    job_.set_steps(200'000);
    job_.set_epochs(0);
    ChildProcess compare = StartCompare(HostsFile());
    const std::string log = directory_ + "/out/runs/001-ps_sync-mlp-r1/worker-0.log";
    while (os::ReadFile(log).value_or("").find("training begins") == std::string::npos &&
           !compare.Poll().has_value()) {
      signals_.Wait(0.2);
    }
    EXPECT_FALSE(compare.Poll().has_value()) << Log();
    EXPECT_THAT(hosts_->Running(), Not(IsEmpty()));
    return compare;
  }

  experiments::SignalWaiter signals_;
  const SystemClock clock_;
  std::string directory_;
  proto::Job job_;
  std::unique_ptr<SshHosts> hosts_;
};

TEST_F(Hosts, AJobRunsOnThemAndLeavesOnlyThePrograms) {
  StartAllSshds();
  job_.mutable_comparison()->add_strategies(proto::Strategy::allreduce_ring);
  ChildProcess compare = StartCompare(HostsFile(), {"--save-parameters"});
  ASSERT_TRUE(End(compare).ok()) << Log();
  const std::vector<nlohmann::json> results = Results();
  ASSERT_EQ(results.size(), 2u);
  for (const nlohmann::json& result : results) {
    EXPECT_EQ(result["failure"], "");
    EXPECT_GT(result["samples_per_second"], 0);
    EXPECT_EQ(result["network"]["kind"], "hosts");
    EXPECT_EQ(result["network"]["loopback"], false);
    EXPECT_EQ(result["network"]["probe"].size(), 3u);
    for (const nlohmann::json& host : result["network"]["probe"]) {
      EXPECT_GT(host["send_bytes_per_s"], 0);
      // They are one machine, so their clocks are one; a nanosecond for rounding.
      const double error_s = host["clock_error_s"];
      EXPECT_GT(error_s, 0);
      EXPECT_LE(std::abs(host["clock_offset_s"].get<double>()), error_s + 1e-9) << host;
    }
    EXPECT_TRUE(result["parameters_equal"]);
  }
  const std::string run = directory_ + "/out/runs/001-ps_sync-mlp-r1/";
  for (const char* name : {"worker-0.log", "worker-1.log", "server-0.log"}) {
    EXPECT_THAT(os::ReadFile(run + name).value_or(""), HasSubstr("listening"));
  }
  EXPECT_THAT(os::ReadFile(run + "server-0.log").value_or(""), HasSubstr(Address(2)));
  EXPECT_GT(fs::file_size(run + "parameters-1.f32"), 0u);
  for (const char* report : {"report.md", "report.html"}) {
    EXPECT_THAT(os::ReadFile(absl::StrCat(directory_, "/out/", report)).value_or(""),
                AllOf(HasSubstr("Time of day on the hosts"), HasSubstr("against the launcher")));
  }
  EXPECT_THAT(os::ReadFile(directory_ + "/out/hosts.txt").value_or(""),
              AllOf(HasSubstr(absl::StrCat(Address(0), " -> ", Address(1))),
                    HasSubstr(absl::StrCat(Address(1), " -> ", Address(0)))));
  ExpectNothingIsLeft(0);
  EXPECT_FALSE(fs::is_empty(directory_ + "/remote/programs"));

  // The programs are there already, and are removed where that is asked for. With TLS, whose file
  // gets to the hosts as the token does.
  fs::remove_all(directory_ + "/out");
  ChildProcess again = StartCompare(
      HostsFile(), {"--remote-clean", "--steps=20", "--tls=true", "--allreduce.transport=grpc"});
  ASSERT_TRUE(End(again).ok()) << Log();
  EXPECT_THAT(Log(), Not(HasSubstr("copying")));
  ExpectNothingIsLeft(0);
  EXPECT_FALSE(fs::exists(directory_ + "/remote/programs"));
}

TEST_F(Hosts, EveryHostThatCannotBeUsedIsNamedAndNothingStarts) {
  StartSshd(0);
  StartSshd(1, "strange_key");
  ChildProcess compare =
      StartCompare(absl::StrCat(Address(0), "\n", Address(1), "\n10.77.0.99 role=server\n"),
                   {"--ssh-option=ConnectTimeout=3"});
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr(absl::StrCat(Address(1), ": ssh: ")));
  EXPECT_THAT(Log(), HasSubstr("Permission denied"));
  EXPECT_THAT(Log(), HasSubstr("(hosts:2)"));
  EXPECT_THAT(Log(), HasSubstr("10.77.0.99: ssh: "));
  EXPECT_THAT(Log(), HasSubstr("(hosts:3)"));
  EXPECT_THAT(Log(), Not(HasSubstr("(hosts:1)")));
  EXPECT_TRUE(Results().empty());
  ExpectNothingIsLeft(10);
}

TEST_F(Hosts, OtherDataOnOneHostIsRefusedWithItsNameAndThePath) {
  const std::string images = job_.data().path() + "/train-images-idx3-ubyte";
  std::string other = os::ReadFile(images).value();
  other.back() = static_cast<char>(other.back() + 1);
  ASSERT_TRUE(os::WriteFile(directory_ + "/other", other).ok());
  StartSshd(0);
  StartSshd(1, "key", absl::StrCat("mount --bind ", directory_, "/other ", images, " &&"));
  StartSshd(2);
  ChildProcess compare = StartCompare(HostsFile());
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr(absl::StrCat(Address(1), ": ", images, " is another file than")));
  EXPECT_THAT(Log(), Not(HasSubstr(absl::StrCat(Address(0), ": ", images))));
  ExpectNothingIsLeft(10);
}

TEST_F(Hosts, AMistakeIsRefusedBeforeAnyConnection) {
  ChildProcess wrong = StartCompare("10.0.0.1 slots=none\n");
  EXPECT_EQ(End(wrong).code, 1);
  EXPECT_THAT(Log(), HasSubstr("hosts:1: slots=none; allowed"));
  ChildProcess few = StartCompare("10.0.0.1\n");
  EXPECT_EQ(End(few).code, 1);
  EXPECT_THAT(Log(), HasSubstr("2 workers need as many slots"));
  ChildProcess lab = StartCompare(HostsFile(), {"--network=1gbit"});
  EXPECT_EQ(End(lab).code, 1);
  EXPECT_THAT(Log(), HasSubstr("--hosts with comparison.network 1gbit"));
  EXPECT_FALSE(fs::exists(directory_ + "/out"));
}

TEST_F(Hosts, NothingIsLeftWhenCompareIsKilled) {
  StartAllSshds();
  ChildProcess compare = StartTraining();
  compare.Signal(SIGKILL);
  EXPECT_EQ(End(compare).signal, SIGKILL);
  fs::remove(directory_ + "/out/runs/001-ps_sync-mlp-r1/token");  // this machine's own copy
  ExpectNothingIsLeft(job_.deadlines().loss_s());
}

TEST_F(Hosts, NothingIsLeftAfterSigterm) {
  StartAllSshds();
  ChildProcess compare = StartTraining();
  compare.Signal(SIGTERM);
  EXPECT_EQ(End(compare).code, 128 + SIGTERM) << Log();
  ExpectNothingIsLeft(0);
}

TEST_F(Hosts, AHostThatIsCutOffIsNamedAndEndsByItself) {
  StartAllSshds();
  ChildProcess compare = StartTraining();
  ASSERT_TRUE(hosts_->lab().CutLink("host1").ok());
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr("worker 1"));
  EXPECT_THAT(Log(), HasSubstr(Address(1)));
  // It cannot be told: it takes the launcher's silence for its end (docs/HOSTS.md), and its
  // processes may need two seconds more to be ended.
  ExpectNothingIsLeft(std::max(20.0, 2 * job_.deadlines().loss_s()) + 2);
}

}  // namespace
}  // namespace crossover::tests
