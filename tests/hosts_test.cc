// compare --hosts over real ssh: three network namespaces with an sshd each stand for three
// hosts, a fourth for the launcher's. They share this machine's disk, so what a host must
// have of its own is bound over it in the mount namespace of its sshd. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/clock.h"
#include "core/job.h"
#include "experiments/child_process.h"
#include "experiments/signal_waiter.h"
#include "lab/command.h"
#include "lab/network_lab.h"
#include "os/files.h"
#include "tests/cluster_fixture.h"
#include "tests/lab_available.h"

namespace crossover::tests {
namespace {

using experiments::ChildProcess;
using experiments::ExitStatus;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace fs = std::filesystem;

constexpr char kSshd[] = "/usr/sbin/sshd";
constexpr int kHosts = 3;

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_no_lab = WhyNoLab();
    if (!why_no_lab.empty()) GTEST_SKIP() << "no network lab here: " << why_no_lab;
    if (access(kSshd, X_OK) != 0) {
      GTEST_SKIP() << "needs sshd (Debian's package openssh-server; tools/setup --tests)";
    }
    directory_ = absl::StrCat(testing::TempDir(), "/hosts-",
                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    std::error_code error;
    fs::create_directories("/run/sshd", error);
    lab::LabOptions options;
    for (int i = 0; i < kHosts; ++i) options.nodes.push_back({absl::StrCat("host", i), "worker"});
    options.switch_binary = "lab/switch";
    options.label = "hosts";
    auto lab = lab::NetworkLab::Up(options);
    ASSERT_TRUE(lab.ok()) << lab.status();
    lab_ = *std::move(lab);
    job_ = SmallJob(MakeSmallData(1200));
    job_.set_workers(2);
    job_.set_servers(1);
    job_.mutable_comparison()->set_repetitions(1);
    job_.mutable_comparison()->add_strategies(proto::Strategy::ps_sync);
    MakeKey("host_key");
    MakeKey("key");
    MakeKey("strange_key");
  }
  void TearDown() override {
    sshds_.clear();
    if (lab_ != nullptr) {
      // A connection's own sshd outlives the first one, where its link was cut.
      for (const int pid : Pids()) kill(pid, SIGKILL);
      EXPECT_TRUE(lab_->Down().ok());
    }
  }

  void MakeKey(const std::string& name) {
    const auto made = lab::RunCommand(
        {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory_ + "/" + name});
    ASSERT_TRUE(made.ok()) << made.status();
  }

  // `before`: shell words that make the host different, "mount --bind ... &&".
  void StartSshd(int host, const std::string& key = "key", const std::string& before = "") {
    const std::string config = absl::StrCat(directory_, "/sshd-", host);
    ASSERT_TRUE(
        os::WriteFile(config, absl::StrCat("Port 22\nListenAddress 0.0.0.0\nHostKey ", directory_,
                                           "/host_key\nPidFile none\nUsePAM no\n"
                                           "PasswordAuthentication no\n"
                                           "PermitRootLogin prohibit-password\n"
                                           "StrictModes no\nAuthorizedKeysFile ",
                                           directory_, "/", key, ".pub\n"))
            .ok());
    auto sshd = ChildProcess::Start(
        {.arguments = {"/usr/bin/unshare", "-m", "/bin/sh", "-c",
                       absl::StrCat(before, " exec ", kSshd, " -D -e -f ", config)},
         .log_path = config + ".log",
         .network_namespace = lab_->nodes()[host].network_namespace});
    ASSERT_TRUE(sshd.ok()) << sshd.status();
    sshds_.push_back(*std::move(sshd));
    for (int i = 0; i < 100; ++i) {
      if (os::ReadFile(config + ".log").value_or("").find("Server listening") !=
          std::string::npos) {
        return;
      }
      signals_.Wait(0.1);
    }
    FAIL() << os::ReadFile(config + ".log").value_or("");
  }
  void StartAllSshds() {
    for (int host = 0; host < kHosts; ++host) StartSshd(host);
  }

  std::string Address(int host) const { return lab_->nodes()[host].address; }
  // Two workers and a server, each on a host of its own.
  std::string HostsFile() const {
    return absl::StrCat(Address(0), "\n", Address(1), "\n", Address(2), " role=server\n");
  }

  ChildProcess StartCompare(const std::string& hosts, std::vector<std::string> more = {}) {
    EXPECT_TRUE(os::WriteFile(directory_ + "/hosts", hosts).ok());
    EXPECT_TRUE(os::WriteFile(directory_ + "/job.textproto", PrintJob(job_)).ok());
    std::vector<std::string> arguments = {
        "experiments/compare",
        "--hosts=hosts",
        "--out=out",
        "--ssh-option=IdentitiesOnly=yes",
        "--ssh-option=StrictHostKeyChecking=no",
        "--ssh-option=UserKnownHostsFile=/dev/null",
        absl::StrCat("--ssh-option=IdentityFile=", directory_, "/key"),
        absl::StrCat("--remote-dir=", directory_, "/remote"),
        directory_ + "/job.textproto"};
    arguments.insert(arguments.end() - 1, more.begin(), more.end());
    auto child = ChildProcess::Start({.arguments = arguments,
                                      .log_path = directory_ + "/log",
                                      .network_namespace = lab_->control().network_namespace,
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

  // Of all processes on the hosts.
  std::vector<int> Pids() const {
    std::vector<int> pids;
    for (const lab::Node& node : lab_->nodes()) {
      const auto listed = lab::RunCommand({"ip", "netns", "pids", node.network_namespace});
      EXPECT_TRUE(listed.ok()) << listed.status();
      const std::string text = listed.value_or("");
      for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
        int pid = 0;
        if (absl::SimpleAtoi(line, &pid)) pids.push_back(pid);
      }
    }
    return pids;
  }
  // Names of the hosts' processes, but for the sshds.
  std::vector<std::string> Running() const {
    std::vector<std::string> names;
    for (const int pid : Pids()) {
      const std::string name = os::ReadFile(absl::StrCat("/proc/", pid, "/comm")).value_or("");
      if (name.find("sshd") == std::string::npos && !name.empty()) names.push_back(name);
    }
    return names;
  }
  // Of the runs, tokens and all; the programs may stay.
  std::vector<std::string> FilesOfRuns() const {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory_ + "/remote/runs", error)) {
      files.push_back(entry.path().string());
    }
    return files;
  }
  void ExpectNothingIsLeft(double within_s) {
    const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(within_s * 1e9);
    while ((!Running().empty() || !FilesOfRuns().empty()) && clock_.NowNs() < deadline_ns) {
      signals_.Wait(0.2);
    }
    EXPECT_THAT(Running(), IsEmpty());
    EXPECT_THAT(FilesOfRuns(), IsEmpty());
    EXPECT_FALSE(fs::exists(directory_ + "/out/runs/001-ps_sync-mlp-r1/token"));
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
    EXPECT_THAT(Running(), Not(IsEmpty()));
    return compare;
  }

  experiments::SignalWaiter signals_;
  const SystemClock clock_;
  std::string directory_;
  proto::Job job_;
  std::unique_ptr<lab::NetworkLab> lab_;
  std::vector<ChildProcess> sshds_;
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

  // The programs are there already, and are removed where that is asked for.
  fs::remove_all(directory_ + "/out");
  ChildProcess again = StartCompare(HostsFile(), {"--remote-clean", "--steps=20"});
  ASSERT_TRUE(End(again).ok()) << Log();
  EXPECT_THAT(Log(), Not(HasSubstr("copying")));
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
  ASSERT_TRUE(lab_->CutLink("host1").ok());
  EXPECT_EQ(End(compare).code, 1);
  EXPECT_THAT(Log(), HasSubstr("worker 1"));
  EXPECT_THAT(Log(), HasSubstr(Address(1)));
  // It cannot be told: it takes the launcher's silence for its end (docs/HOSTS.md), and its
  // processes may need two seconds more to be ended.
  ExpectNothingIsLeft(std::max(20.0, 2 * job_.deadlines().loss_s()) + 2);
}

}  // namespace
}  // namespace crossover::tests
