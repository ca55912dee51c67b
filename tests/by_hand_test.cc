// Workers and servers started by hand, one by one, with plain flags: the run works,
// and what can go wrong at its start is said by the process concerned and ends the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"
#include "net/local_address.h"
#include "os/files.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

using experiments::ChildProcess;
using experiments::ExitStatus;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr char kCompareBinary[] = "experiments/compare";
constexpr char kStatusBinary[] = "ps/status";

// A socket that listens on loopback for as long as it lives.
class TakenPort {
 public:
  TakenPort() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(fd_, 1), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  ~TakenPort() { Free(); }
  void Free() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  std::string port() const { return absl::StrCat(port_); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int fd_;
  int port_ = 0;
};

class ByHand : public testing::Test {
 protected:
  ByHand() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    directory_ = absl::StrCat(testing::TempDir(), "/by-hand-", name);
    EXPECT_TRUE(os::MakeDirectory(directory_).ok());
    EXPECT_TRUE(
        os::WriteFile(directory_ + "/token", "0123456789abcdef0123456789abcdef\n", 0600).ok());
    job_ = SmallJob(MakeSmallData(1200));
    job_.set_strategy(proto::Strategy::ps_sync);
    job_.set_workers(2);
    job_.set_servers(1);
    // The address must be known to all processes before worker 0 binds it, so it is
    // free for a moment: another program could take it, and the test would fail.
    TakenPort port;
    rendezvous_ = port.address();
  }

  struct Running {
    std::string log_path;
    ChildProcess process;
  };

  Running& Start(const std::string& binary, int rank, std::vector<std::string> more = {}) {
    EXPECT_TRUE(os::WriteFile(directory_ + "/job.textproto", PrintJob(job_)).ok());
    const std::string log = absl::StrCat(directory_, "/", running_.size(), ".log");
    std::vector<std::string> arguments = {binary, absl::StrCat("--rank=", rank),
                                          absl::StrCat("--rendezvous=", rendezvous_),
                                          absl::StrCat("--token_file=", directory_, "/", token_),
                                          absl::StrCat("--job=", directory_, "/job.textproto")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return StartProgram(arguments, log);
  }
  Running& StartWorker(int rank, std::vector<std::string> more = {}) {
    return Start(kWorkerBinary, rank, std::move(more));
  }
  Running& StartServer(int rank, std::vector<std::string> more = {}) {
    return Start(kServerBinary, rank, std::move(more));
  }

  Running& Reduce(std::vector<std::string> more) {
    more.insert(more.begin(), {kCompareBinary, "--reduce"});
    const std::string log = absl::StrCat(directory_, "/reduce-", running_.size(), ".log");
    return StartProgram(more, log);
  }

  // Looks at the server that has logged where it listens.
  Running& StartStatus(const Running& server, std::vector<std::string> more) {
    const std::string log = Log(server);
    const std::string before_address = "server 0 listens on ";
    const size_t at = log.find(before_address) + before_address.size();
    more.insert(more.begin(), {kStatusBinary, log.substr(at, log.find('\n', at) - at),
                               absl::StrCat("--token_file=", directory_, "/", token_)});
    return StartProgram(more, absl::StrCat(directory_, "/status-", running_.size(), ".log"));
  }
  void WaitForLog(const Running& running, const std::string& text) {
    const int64_t deadline_ns = clock_.NowNs() + int64_t{60'000'000'000};
    while (Log(running).find(text) == std::string::npos) {
      ASSERT_LT(clock_.NowNs(), deadline_ns) << text << " is not in " << Log(running);
      signals_.Wait(0.1);
    }
  }

  Running& StartProgram(const std::vector<std::string>& arguments, const std::string& log) {
    experiments::ChildOptions options;
    options.arguments = arguments;
    options.log_path = log;
    options.environment = {{"OMP_NUM_THREADS", "1"}};
    auto child = ChildProcess::Start(options);
    EXPECT_TRUE(child.ok()) << child.status();
    running_.push_back({log, std::move(*child)});
    return running_.back();
  }

  ExitStatus End(Running& running) {
    const int64_t deadline_ns = clock_.NowNs() + int64_t{60'000'000'000};
    while (clock_.NowNs() < deadline_ns) {
      if (const auto ended = running.process.Poll()) return *ended;
      signals_.Wait(0.1);
    }
    ADD_FAILURE() << "still running after a minute: " << Log(running);
    return {};
  }
  void WaitForTraining(const std::vector<Running*>& workers) {
    for (Running* worker : workers) {
      while (Log(*worker).find("training begins") == std::string::npos) {
        ASSERT_FALSE(worker->process.Poll().has_value()) << Log(*worker);
        signals_.Wait(0.1);
      }
    }
  }
  std::string Log(const Running& running) { return os::ReadFile(running.log_path).value_or(""); }

  experiments::SignalWaiter signals_;
  const SystemClock clock_;
  std::string directory_;
  std::string rendezvous_;
  std::string token_ = "token";
  proto::Job job_;
  std::deque<Running> running_;
};

TEST_F(ByHand, ARunWorksAndEveryProcessEndsByItself) {
  Running& server = StartServer(0);
  Running& second = StartWorker(1);
  Running& first = StartWorker(0);
  for (Running* running : {&first, &second, &server}) {
    EXPECT_TRUE(End(*running).ok()) << Log(*running);
  }
}

// Who looks on sees figures of the run, and keeps nobody from ending well.
TEST_F(ByHand, AServerShowsWhatItDoesAndEndsWithItsWorkersAllTheSame) {
  // Steps of a known length, so that the run lasts eight seconds on any machine.
  job_.set_model(proto::Model::emulated);
  proto::Layer& layer = *job_.mutable_emulated()->add_layers();
  layer.set_name("layer");
  layer.set_forward_ms(8);
  layer.set_backward_ms(8);
  layer.set_gradient_bytes(400'000);
  job_.set_steps(500);
  Running& server = StartServer(0);
  Running& second = StartWorker(1);
  Running& first = StartWorker(0);
  WaitForTraining({&first, &second});
  Running& watch = StartStatus(server, {"--watch=0.2"});
  WaitForLog(watch, " MB/s)");
  Running& interrupted = StartStatus(server, {"--watch"});
  Running& once = StartStatus(server, {});
  Running& metrics = StartStatus(server, {"--prometheus"});
  EXPECT_TRUE(End(once).ok()) << Log(once);
  EXPECT_THAT(Log(once), ContainsRegex("server 0 of 1 at 127.0.0.1:[0-9]+ .*, ps_sync"));
  EXPECT_THAT(Log(once), ContainsRegex("step +[0-9,]+ of 500\n"));
  for (const char* rank : {"0", "1"}) {  // heartbeat and phase are the rendezvous's
    EXPECT_THAT(Log(once), ContainsRegex(absl::StrCat(
                               rank, "  connected  a Unix socket +[0-9,]+ .* m?s  train ")));
  }
  EXPECT_TRUE(End(metrics).ok()) << Log(metrics);
  EXPECT_THAT(Log(metrics), ContainsRegex("\ncrossover_ps_pushes_total\\{.*\\} [1-9]"));
  EXPECT_THAT(Log(metrics), ContainsRegex("\ncrossover_ps_memory_bytes\\{.*resident\"\\} [1-9]"));
  WaitForLog(interrupted, "connected");
  interrupted.process.Signal(SIGINT);
  EXPECT_TRUE(End(interrupted).ok()) << Log(interrupted);
  EXPECT_TRUE(os::WriteFile(directory_ + "/other", std::string(32, 'x') + "\n", 0600).ok());
  token_ = "other";
  Running& stranger = StartStatus(server, {});
  EXPECT_EQ(End(stranger).code, 1);
  EXPECT_THAT(Log(stranger), HasSubstr("refuses this token"));

  for (Running* running : {&first, &second, &server}) {
    EXPECT_TRUE(End(*running).ok()) << Log(*running);
  }
  EXPECT_EQ(End(watch).code, 1);
  EXPECT_THAT(Log(watch), HasSubstr("status: nobody answers at 127.0.0.1:"));
}

// Two runs, each with a folder of its own, become one report.
TEST_F(ByHand, ReportsBecomeResultsAndAPage) {
  std::vector<std::string> folders;
  for (const auto strategy : {proto::Strategy::ps_sync, proto::Strategy::allreduce_ring}) {
    job_.set_strategy(strategy);
    running_.clear();
    folders.push_back(absl::StrCat(directory_, "/", StrategyName(strategy)));
    ASSERT_TRUE(os::MakeDirectory(folders.back()).ok());
    ASSERT_TRUE(os::WriteFile(folders.back() + "/job.textproto", PrintJob(job_)).ok());
    const auto report = [&](const char* name) {
      return std::vector<std::string>{absl::StrCat("--report=", folders.back(), "/", name)};
    };
    if (UsesServers(job_)) StartServer(0, report("server-0.report"));
    StartWorker(1, report("worker-1.report"));
    StartWorker(0, report("worker-0.report"));
    for (Running& running : running_) ASSERT_TRUE(End(running).ok()) << Log(running);
  }
  Running& reduce = Reduce({folders[0], folders[1], "--out=" + directory_ + "/out"});
  ASSERT_TRUE(End(reduce).ok()) << Log(reduce);
  EXPECT_THAT(Log(reduce), HasSubstr("results and reports: "));
  const std::string lines = os::ReadFile(directory_ + "/out/results.jsonl").value_or("");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  for (const char* file : {"results.jsonl", "report.md", "report.html"}) {
    const std::string text = os::ReadFile(absl::StrCat(directory_, "/out/", file)).value_or("");
    EXPECT_THAT(text, HasSubstr("ps_sync")) << file;
    EXPECT_THAT(text, HasSubstr("allreduce_ring")) << file;
  }
  // A process whose report was not copied is named.
  unlink((folders[1] + "/worker-1.report").c_str());
  Running& lacking = Reduce({folders[1], "--out=" + directory_ + "/out-2"});
  EXPECT_EQ(End(lacking).code, 1);
  EXPECT_THAT(Log(lacking), HasSubstr("the report of worker 1 is missing"));
}

TEST_F(ByHand, EveryProcessLogsItsAddressAndWhy) {
  Running& server = StartServer(0, {"--interface=127.0.0.0/8"});
  Running& second = StartWorker(1, {"--interface=lo"});
  Running& first = StartWorker(0);
  for (Running* running : {&first, &second, &server}) {
    EXPECT_TRUE(End(*running).ok()) << Log(*running);
  }
  EXPECT_THAT(Log(server), HasSubstr("server 0: listening on 127.0.0.1 (lo): the only address in "
                                     "127.0.0.0/8"));
  EXPECT_THAT(Log(second), HasSubstr("worker 1: not listening, since ps_sync connects to no "
                                     "worker; else on 127.0.0.1 (lo): "));
  EXPECT_THAT(Log(first), HasSubstr("127.0.0.1 (loopback): no --interface was given"));

  Running& unknown = StartServer(0, {"--interface=nosuch0"});
  EXPECT_EQ(End(unknown).code, 1);
  EXPECT_THAT(Log(unknown), HasSubstr("server 0: --interface=nosuch0: nosuch0 is no interface of "
                                      "this host; found: lo 127.0.0.1/8"));
}

TEST_F(ByHand, ARankOnLoopbackAmongOthersBeyondItEndsTheRunByName) {
  const auto beyond = net::LocalAddress("^lo");
  if (!beyond.ok()) GTEST_SKIP() << "needs an address beyond loopback: " << beyond.status();
  job_.set_strategy(proto::Strategy::allreduce_ring);
  Running& first = StartWorker(0, {"--interface=^lo"});
  Running& second = StartWorker(1);
  for (Running* running : {&first, &second}) {
    EXPECT_EQ(End(*running).code, 1);
    EXPECT_THAT(Log(*running), HasSubstr("worker 1 listens on 127.0.0.1:"));
    EXPECT_THAT(Log(*running), HasSubstr("reaches, but worker 0 listens on "));
    EXPECT_THAT(Log(*running), HasSubstr("fix: start worker 1 with --interface="));
  }
}

TEST_F(ByHand, AWorkerThatNeverStartsIsNamedWhenTheTimeIsOver) {
  job_.mutable_deadlines()->set_join_s(10);
  Running& server = StartServer(0);
  Running& first = StartWorker(0);
  for (Running* running : {&first, &server}) {
    EXPECT_EQ(End(*running).code, 1);
    EXPECT_THAT(Log(*running), HasSubstr("worker 1 never joined within 10 s"));
  }
}

// The others, who wait until the time is over, hear why it was refused.
TEST_F(ByHand, AWorkerThatWasRefusedIsMissedWithTheReason) {
  job_.mutable_deadlines()->set_join_s(10);
  Running& server = StartServer(0);
  Running& first = StartWorker(0);
  Running& foreign = StartWorker(1, {"--seed=99"});
  EXPECT_EQ(End(foreign).code, 1);
  for (Running* running : {&first, &server}) {
    EXPECT_EQ(End(*running).code, 1);
    EXPECT_THAT(Log(*running), ContainsRegex("worker 1 never joined within 10 s: .*; refused: "
                                             "worker 1 at 127.0.0.1:[0-9]+ runs another job"));
  }
}

TEST_F(ByHand, AServerOfAnotherJobIsRefusedAndHarmsNothing) {
  Running& first = StartWorker(0);
  Running& foreign = StartServer(0, {"--seed=99"});
  EXPECT_EQ(End(foreign).code, 1);
  EXPECT_THAT(Log(foreign), HasSubstr("job"));
  Running& server = StartServer(0);
  Running& second = StartWorker(1);
  for (Running* running : {&first, &second, &server}) {
    EXPECT_TRUE(End(*running).ok()) << Log(*running);
  }
}

TEST_F(ByHand, AWrongTokenIsRefusedAndHarmsNothing) {
  ASSERT_TRUE(
      os::WriteFile(directory_ + "/other", "ffffffffffffffffffffffffffffffff\n", 0600).ok());
  Running& first = StartWorker(0);
  token_ = "other";
  Running& stranger = StartServer(0);
  EXPECT_EQ(End(stranger).code, 1);
  EXPECT_THAT(Log(stranger), HasSubstr("token"));
  EXPECT_THAT(Log(stranger), Not(HasSubstr("ffffffff")));
  token_ = "token";
  Running& server = StartServer(0);
  Running& second = StartWorker(1);
  for (Running* running : {&first, &second, &server}) {
    EXPECT_TRUE(End(*running).ok()) << Log(*running);
  }
}

// By its port, whichever of the three sockets it is that cannot be bound.
TEST_F(ByHand, ATakenPortIsAnErrorThatNamesIt) {
  TakenPort taken;
  Running& server = StartServer(0, {absl::StrCat("--listen=", taken.address())});
  EXPECT_EQ(End(server).code, 1);
  EXPECT_THAT(Log(server), HasSubstr(taken.port()));
  EXPECT_THAT(Log(server), HasSubstr("taken"));

  job_.set_strategy(proto::Strategy::allreduce_ring);
  Running& worker = StartWorker(0, {absl::StrCat("--listen=", taken.address())});
  EXPECT_EQ(End(worker).code, 1);
  EXPECT_THAT(Log(worker), HasSubstr(taken.port()));
  EXPECT_THAT(Log(worker), HasSubstr("taken"));

  rendezvous_ = taken.address();
  Running& host = StartWorker(0);
  EXPECT_EQ(End(host).code, 1);
  EXPECT_THAT(Log(host), HasSubstr(taken.port()));
  EXPECT_THAT(Log(host), HasSubstr("taken"));
}

// Without a launcher: kill -9 of one process ends all others, each with a line that
// says who was lost.
TEST_F(ByHand, ALostProcessEndsTheOthers) {
  job_.set_steps(100'000);
  job_.mutable_deadlines()->set_loss_s(3);
  for (const int lost : {0, 1, 2}) {
    running_.clear();
    StartWorker(0);
    StartWorker(1);
    StartServer(0);
    WaitForTraining({&running_[0], &running_[1]});
    running_[lost].process.Signal(SIGKILL);
    const int64_t lost_at_ns = clock_.NowNs();
    for (int other = 0; other < 3; ++other) {
      if (other == lost) continue;
      EXPECT_EQ(End(running_[other]).code, 1);
      // Worker 0 is the meeting point.
      const std::string who =
          lost == 0 ? absl::StrCat("worker 0, which serves the rendezvous at ", rendezvous_, ",")
                    : absl::StrCat(lost == 1 ? "worker 1" : "server 0", " at 127.0.0.1:[0-9]+");
      const std::string phase = lost == 0 ? "" : " \\((join|load|train)\\)";
      // A lost process's step is the last that it told of; it tells now and then.
      EXPECT_THAT(
          Log(running_[other]),
          ContainsRegex(who + " was lost (in step [0-9]+|before its first step)" + phase + ": "));
    }
    // Detection and everyone's end are within loss_s; the rest is the test's own looking on.
    EXPECT_LT(static_cast<double>(clock_.NowNs() - lost_at_ns) * 1e-9,
              job_.deadlines().loss_s() + 2);
  }
}

TEST_F(ByHand, SigtermEndsEverybodyWith143ForTheOneToldSo) {
  job_.set_steps(100'000);
  Running& server = StartServer(0);
  Running& first = StartWorker(0);
  Running& second = StartWorker(1);
  WaitForTraining({&first, &second});
  second.process.Signal(SIGTERM);
  EXPECT_EQ(End(second).code, 143) << Log(second);
  EXPECT_EQ(End(first).code, 1) << Log(first);
  EXPECT_EQ(End(server).code, 1) << Log(server);
  EXPECT_THAT(Log(first), HasSubstr("worker 1"));
  EXPECT_THAT(Log(server), HasSubstr("worker 1"));
}

}  // namespace
}  // namespace crossover::tests
