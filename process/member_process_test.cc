#include "process/member_process.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/tls_pem.h"
#include "os/files.h"

namespace crossover::process {
namespace {

class MemberProcessTest : public testing::Test {
 protected:
  MemberProcessTest() {
    values_.rendezvous = "127.0.0.1:29500";
    values_.token_path = testing::TempDir() + "/member-token";
    EXPECT_TRUE(os::WriteFile(values_.token_path, "0123456789abcdef0123456789abcdef\n", 0600).ok());
  }
  absl::StatusOr<MemberSetup> SetUp2Workers() const {
    return SetUpMember(values_, net::Role::kWorker, 2, tls_);
  }
  void ExpectRefused(const std::string& part) const {
    const absl::Status status = SetUp2Workers().status();
    EXPECT_FALSE(status.ok()) << part;
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  }

  MemberFlags values_;
  bool tls_ = false;  // the job's
};

TEST_F(MemberProcessTest, ListensOnLoopbackUnlessToldOtherwise) {
  const absl::StatusOr<MemberSetup> setup = SetUp2Workers();
  ASSERT_TRUE(setup.ok()) << setup.status();
  EXPECT_EQ(net::FormatHostPort(setup->listen), "127.0.0.1:0");
  EXPECT_EQ(setup->listen_choice, "127.0.0.1 (loopback): no --interface was given");
  EXPECT_EQ(setup->token, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(setup->report_path, "");
}

TEST_F(MemberProcessTest, TakesAnInterfaceOrAFixedPort) {
  values_.interface = "127.0.0.0/8";
  EXPECT_EQ(SetUp2Workers()->listen_choice, "127.0.0.1 (lo): the only address in 127.0.0.0/8");
  values_.interface = "";
  values_.listen = "127.0.0.1:4711";
  EXPECT_EQ(net::FormatHostPort(SetUp2Workers()->listen), "127.0.0.1:4711");
  EXPECT_EQ(SetUp2Workers()->listen_choice, "127.0.0.1 (lo): the address asked for");
}

TEST_F(MemberProcessTest, RefusesWithTheFlagAndTheFix) {
  values_.interface = "nosuch0";
  ExpectRefused("--interface=nosuch0: nosuch0 is no interface of this host; found: lo 127.0.0.1/8");
  ExpectRefused("fix: ");
  values_.interface = "";
  values_.listen = "0.0.0.0:0";
  ExpectRefused("--listen=0.0.0.0:0: 0.0.0.0 is the wildcard");
  values_.listen = "127.0.0.1";
  ExpectRefused("--listen=127.0.0.1: address '127.0.0.1' has no port");
  values_.interface = "lo";
  ExpectRefused("--listen and --interface: give one of the two");
  values_.listen = "";
  values_.report_path = "/nonexistent/worker-0.report";
  ExpectRefused("--report: cannot write /nonexistent/worker-0.report: No such file or directory");
  values_.rank = 2;
  ExpectRefused("--rank=2: the job has 2 worker processes; allowed: 0 to 1");
  values_.rank = 1;
  values_.token_path = "";
  ExpectRefused("--token_file: missing");
  values_.rendezvous = "127.0.0.1:0";
  ExpectRefused("--rendezvous=127.0.0.1:0: a port of the system's choice");
  values_.rendezvous = "";
  ExpectRefused("--rendezvous: address ''");
}

// A main whose run ends at once.
TEST_F(MemberProcessTest, TheTlsFileIsTheJobs) {
  values_.tls_path = testing::TempDir() + "/member-tls";
  const std::string pem = *net::MakeTlsPem();
  ASSERT_TRUE(os::WriteFile(values_.tls_path, pem, 0600).ok());
  ExpectRefused("--tls_file: the job has no TLS; fix: --tls=true");
  tls_ = true;
  EXPECT_EQ(SetUp2Workers()->tls_pem, pem);
  values_.tls_path = "/no/such/file";
  ExpectRefused("TLS file /no/such/file cannot be read");
  values_.tls_path = "";
  ExpectRefused("--tls_file: missing; the job has tls: true");
}

class MemberMainTest : public MemberProcessTest {
 protected:
  int Main(std::vector<std::string> arguments, const absl::Status& end) {
    FlagSet flags("worker [flags]", "A test.");
    AddRunFlags(values_, flags);
    AddProcessFlags(values_, flags);
    flags.AddJobFields();
    std::vector<char*> argv = {program_.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    return MemberMain(static_cast<int>(argv.size()), argv.data(), net::Role::kWorker, flags,
                      values_, [&](const proto::Job& job) -> absl::StatusOr<MemberRun> {
                        workers_ = job.workers();
                        if (absl::IsInvalidArgument(end)) return end;
                        return MemberRun{[] { return std::string("worker 1 at here"); },
                                         [end] { return end; },
                                         [](const absl::Status&) { return false; }};
                      });
  }
  std::string program_ = "worker";
  int workers_ = 0;
};

TEST_F(MemberMainTest, RunsTheJobOfItsFlags) {
  EXPECT_EQ(Main({"--rank=1", "--workers=3", "--global_batch=510"}, absl::OkStatus()), 0);
  EXPECT_EQ(workers_, 3);
  EXPECT_EQ(values_.rank, 1);
}

TEST_F(MemberMainTest, SaysWhoFailed) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Main({"--rank=1"}, absl::AbortedError("lost")), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "worker 1 at here: lost\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Main({"--rank=1"}, absl::InvalidArgumentError("not so")), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "worker 1: not so\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Main({"--rnak=1"}, absl::OkStatus()), 1);
  EXPECT_TRUE(absl::StrContains(testing::internal::GetCapturedStderr(), "worker: "));
}

}  // namespace
}  // namespace crossover::process
