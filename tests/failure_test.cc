// Every failure by role, kind and moment: each cell of the matrix hits one process of a
// real run, and expects either that the run goes on or that every process ends within the
// deadline, with one line that names the culprit. Nothing stays running, no secret is left
// behind. What checks of several hosts find before a start (data that differ): hosts_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "core/status.h"
#include "experiments/lab_session.h"
#include "experiments/report/trace.h"
#include "experiments/results/reduce_run.h"
#include "experiments/results/run_reports.h"
#include "lab/namespaces.h"
#include "lab/network_lab.h"
#include "os/files.h"
#include "os/wall_time.h"
#include "tests/cluster_fixture.h"
#include "tests/failure_case.h"
#include "tests/lab_available.h"
#include "tests/odd_host.h"

namespace crossover::tests {
namespace {

using experiments::ClusterOptions;
using net::MemberState;
using net::Role;
using testing::AnyOf;
using testing::HasSubstr;

constexpr double kShortStopS = 0.8;
constexpr double kLoss = 0.05;

// One lab serves all cells that need one: bringing it up takes a second.
class LabForAll : public testing::Environment {
 public:
  void TearDown() override { lab_.reset(); }
  absl::StatusOr<lab::NetworkLab*> Get() {
    if (lab_ == nullptr && failure_.ok()) failure_ = BringUp();
    if (!failure_.ok()) return failure_;
    return lab_.get();
  }

 private:
  absl::Status BringUp() {
    lab::LabOptions options;
    options.network = lab::ParseNetworkSpec("1gbit").value();
    options.nodes = lab::WorkersAndServers(kMatrixWorkers, kMatrixServers);
    options.need_loss_control = true;
    options.switch_binary = "lab/switch";
    ASSIGN_OR_RETURN(lab_, lab::NetworkLab::Up(options));
    return absl::OkStatus();
  }
  std::unique_ptr<lab::NetworkLab> lab_;
  absl::Status failure_;
};

LabForAll* const shared_lab =
    static_cast<LabForAll*>(testing::AddGlobalTestEnvironment(new LabForAll));

bool HasCome(const FailureCase& cell, const std::vector<MemberState>& members) {
  for (const MemberState& member : members) {
    if (member.role != Role::kWorker) continue;
    if (cell.moment == Moment::kInAStep && member.step < 10) return false;
    if (cell.moment == Moment::kAtTheEnd && member.rank == 0 && member.phase != "evaluate") {
      return false;
    }
  }
  return true;
}

// Deals the cell's blow, and takes it back where the run is to go on.
class Striker {
 public:
  Striker(const FailureCase& cell, lab::NetworkLab* lab, const Clock& clock)
      : cell_(cell), lab_(lab), clock_(clock) {}
  ~Striker() {
    if (lab_ == nullptr) return;
    EXPECT_TRUE(lab_->RestoreLink(Node()).ok());
    EXPECT_TRUE(lab_->SetLoss(Node(), 0).ok());
  }

  void OnStarted(const std::vector<int>& pids) {
    pids_ = pids;
    if (cell_.moment == Moment::kBeforeJoin) Strike();
  }
  void OnProgress(const std::vector<MemberState>& members) {
    if (struck_at_ns_ == 0 && HasCome(cell_, members)) Strike();
    if (cell_.blow == Blow::kStoppedShort && struck_at_ns_ != 0 && SinceStrikeS() > kShortStopS) {
      kill(VictimPid(), SIGCONT);
    }
  }
  bool struck() const { return struck_at_ns_ != 0; }
  double SinceStrikeS() const { return static_cast<double>(clock_.NowNs() - struck_at_ns_) * 1e-9; }
  const std::vector<int>& pids() const { return pids_; }

 private:
  int VictimPid() const {
    return pids_.at(cell_.victim == Victim::kWorker ? cell_.rank : kMatrixWorkers);
  }
  std::string Node() const {
    switch (cell_.victim) {
      case Victim::kWorker:
        return absl::StrCat("worker", cell_.rank);
      case Victim::kServer:
        return "server0";
      case Victim::kCompare:
        return "control";
    }
    return "";
  }
  void Strike() {
    struck_at_ns_ = clock_.NowNs();
    switch (cell_.blow) {
      case Blow::kKilled:
        ASSERT_EQ(kill(VictimPid(), SIGKILL), 0);
        return;
      case Blow::kStoppedLong:
      case Blow::kStoppedShort:
        ASSERT_EQ(kill(VictimPid(), SIGSTOP), 0);
        return;
      case Blow::kTerminated:
        ASSERT_EQ(kill(VictimPid(), SIGTERM), 0);
        return;
      case Blow::kLinkCut:
        ASSERT_EQ(lab_->CutLink(Node()), absl::OkStatus());
        return;
      case Blow::kLinkLossy:
        ASSERT_EQ(lab_->SetLoss(Node(), kLoss), absl::OkStatus());
        return;
      case Blow::kWrongClock:
      case Blow::kDataUnreadable:
        return;  // it was started on such a host
    }
  }

  const FailureCase& cell_;
  lab::NetworkLab* const lab_;
  const Clock& clock_;
  std::vector<int> pids_;
  int64_t struck_at_ns_ = 0;
};

std::string FolderOf(const FailureCase& cell) {
  return absl::StrCat("failure-", StrategyName(cell.strategy), "-", NameOf(cell), "-", cell.rank);
}

// A script stands for the victim's program, where its host is to be odd.
void MakeHostOdd(const FailureCase& cell, ClusterOptions& options) {
  const std::string script = absl::StrCat(testing::TempDir(), "/", FolderOf(cell), ".sh");
  std::string& program =
      cell.victim == Victim::kWorker ? options.worker_binary : options.server_binary;
  if (cell.blow == Blow::kWrongClock) {
    WriteProgramWithWrongClocks(program, cell.rank, script);
  } else {
    WriteProgramThatMayNotRead(UnreadableFile(cell), program, cell.rank, script);
  }
  program = script;
}

std::string LogOf(const FailureCase& cell, Role role, int rank) {
  return os::ReadFile(absl::StrCat(testing::TempDir(), "/", FolderOf(cell), "/",
                                   net::RoleName(role), "-", rank, ".log"))
      .value_or("no log");
}

std::string Culprit(const FailureCase& cell) {
  switch (cell.victim) {
    case Victim::kWorker:
      return net::ProcessName(Role::kWorker, cell.rank);
    case Victim::kServer:
      return net::ProcessName(Role::kServer, 0);
    case Victim::kCompare:
      return "";  // without it everyone is lost at once
  }
  return "";
}

// Everyone else ended by itself and said who was lost.
void ExpectSurvivorsSayWhy(const FailureCase& cell) {
  const std::string lost = Culprit(cell);
  const bool servers = UsesServers(JobFor(cell));
  for (int i = 0; i < kMatrixWorkers + (servers ? kMatrixServers : 0); ++i) {
    const Role role = i < kMatrixWorkers ? Role::kWorker : Role::kServer;
    const int rank = i < kMatrixWorkers ? i : i - kMatrixWorkers;
    if (net::ProcessName(role, rank) == lost) continue;
    EXPECT_THAT(LogOf(cell, role, rank), HasSubstr(absl::StrCat(lost, " at ")))
        << net::ProcessName(role, rank);
  }
}

void ExpectTheEnd(const FailureCase& cell, const absl::Status& status, double took_s) {
  const std::string message(status.message());
  if (GoesOn(cell)) {
    EXPECT_EQ(status, absl::OkStatus());
    return;
  }
  ASSERT_FALSE(status.ok()) << "the run ended well in spite of it";
  EXPECT_LT(took_s, EndsWithinS(cell)) << message;
  EXPECT_THAT(message, HasSubstr(Culprit(cell)));
  EXPECT_EQ(message.find('\n'), std::string::npos) << "one line: " << message;
  if (cell.blow == Blow::kKilled) {
    EXPECT_THAT(message, HasSubstr("killed by signal 9"));
  }
  if (cell.blow == Blow::kTerminated && cell.moment != Moment::kBeforeJoin) {
    EXPECT_THAT(message, HasSubstr("signal 15"));
  }
  if (cell.blow == Blow::kDataUnreadable) {
    EXPECT_THAT(message, HasSubstr(UnreadableFile(cell)));
    EXPECT_THAT(message, HasSubstr("Permission denied"));
  }
  // The data are read once all have joined.
  if (cell.moment != Moment::kBeforeJoin || cell.blow == Blow::kDataUnreadable) {
    EXPECT_THAT(message, AnyOf(HasSubstr(" at 127.0.0.1:"), HasSubstr(" at 10.77.0.")));
    EXPECT_THAT(message, HasSubstr(cell.blow == Blow::kDataUnreadable ? "before its first step"
                                                                      : "in step "));
  }
}

// The run's times were brought onto one clock. A wrong one would show as hours: the run takes
// seconds.
void ExpectFiguresOfRightClocks(const FailureCase& cell, const Outcome& outcome, double took_s) {
  const Role role = cell.victim == Victim::kWorker ? Role::kWorker : Role::kServer;
  int64_t time_of_day_s = 0;
  const std::string log = LogOf(cell, role, cell.rank);
  ASSERT_TRUE(absl::SimpleAtoi(log.substr(0, log.find('\n')), &time_of_day_s)) << log;
  EXPECT_GT(static_cast<double>(time_of_day_s) - static_cast<double>(os::WallTimeNs()) * 1e-9, 3600)
      << "the victim's time of day was right";
  const proto::Job job = WithDefaults(JobFor(cell));
  for (const proto::ProcessReport& report : outcome.reports) {
    const bool wrong = experiments::ProcessName(report) == Culprit(cell);
    const double offset_ns = wrong ? -kMonotonicAheadS * 1e9 : 0;
    EXPECT_LE(std::abs(static_cast<double>(report.clock_offset_ns()) - offset_ns),
              static_cast<double>(report.clock_error_ns()))
        << experiments::ProcessName(report);
  }
  const auto result = experiments::ReduceRun(job, outcome.reports, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->training_s, took_s);
  EXPECT_LT(result->wait_ms, result->communication_ms);
  EXPECT_GT(result->coverage, 0.9);
  ASSERT_TRUE(result->straggler.has_value());
  EXPECT_LT(result->straggler->excess_ms, result->step_ms_mean);
  for (const experiments::LossPoint& point : result->loss_curve) EXPECT_LT(point.time_s, took_s);
  const auto trace = experiments::TraceJson(job, outcome.reports);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const int pid = cell.victim == Victim::kWorker ? cell.rank : kMatrixWorkers;
  int spans = 0;
  const nlohmann::json events = nlohmann::json::parse(*trace)["traceEvents"];
  for (const nlohmann::json& event : events) {
    if (!event.contains("ts")) continue;
    spans += event["pid"] == pid ? 1 : 0;
    EXPECT_GE(event["ts"].get<double>(), -result->clock_error_ms * 1e3) << event;
    EXPECT_LT(event["ts"].get<double>(), took_s * 1e6) << event;
  }
  EXPECT_GT(spans, 0) << "the victim is not in the trace";
}

class Failure : public testing::TestWithParam<FailureCase> {};

// The launcher is this test itself, so that its network can be cut too. What signals do to
// the compare binary: compare_failure_test.
TEST_P(Failure, EndsOrGoesOnAndNamesTheCulprit) {
  const FailureCase& cell = GetParam();
  lab::NetworkLab* lab = nullptr;
  std::optional<lab::ScopedNamespace> control;
  if (NeedsLab(cell)) {
    const std::string why = WhyNoLab();
    if (!why.empty()) GTEST_SKIP() << "no network lab here: " << why;
    const absl::StatusOr<lab::NetworkLab*> brought_up = shared_lab->Get();
    ASSERT_TRUE(brought_up.ok()) << brought_up.status();
    lab = *brought_up;
    auto entered = lab::ScopedNamespace::Enter(lab->control().network_namespace);
    ASSERT_TRUE(entered.ok()) << entered.status();
    control.emplace(*std::move(entered));
  }
  if (NeedsOddHost(cell)) {
    const std::string why = WhyNoOddHost();
    if (!why.empty()) GTEST_SKIP() << "no odd host here: " << why;
  }
  const SystemClock clock;
  Striker striker(cell, lab, clock);
  const absl::StatusOr<Outcome> outcome =
      RunJobWith(JobFor(cell), FolderOf(cell), [&](ClusterOptions& options) {
        if (lab != nullptr)
          options.sites = experiments::SitesInLab(*lab, proto::Comparison::dedicated);
        if (NeedsOddHost(cell)) MakeHostOdd(cell, options);
        options.on_started = [&](const std::vector<int>& pids) { striker.OnStarted(pids); };
        options.on_progress = [&](const std::vector<MemberState>& members) {
          striker.OnProgress(members);
        };
      });
  ASSERT_TRUE(striker.struck()) << "the moment never came: " << outcome.status();
  const double took_s = striker.SinceStrikeS();
  ExpectTheEnd(cell, outcome.status(), took_s);
  for (const int pid : striker.pids()) EXPECT_FALSE(IsRunning(pid));
  EXPECT_FALSE(
      std::filesystem::exists(absl::StrCat(testing::TempDir(), "/", FolderOf(cell), "/token")));
  if (cell.blow == Blow::kWrongClock && outcome.ok()) {
    ExpectFiguresOfRightClocks(cell, *outcome, took_s);
  }
  const bool known = (cell.moment == Moment::kInAStep || cell.blow == Blow::kDataUnreadable) &&
                     cell.victim != Victim::kCompare;
  // Who was cut off learns nothing of anyone; the others do.
  if (known && !GoesOn(cell) && !testing::Test::HasFailure()) ExpectSurvivorsSayWhy(cell);
}

std::vector<FailureCase> Cells() {
  std::vector<FailureCase> cells;
  for (const FailureCase& cell : FailureMatrix()) {
    if (cell.victim != Victim::kCompare || NeedsLab(cell)) cells.push_back(cell);
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(All, Failure, testing::ValuesIn(Cells()), [](const auto& info) {
  return absl::StrCat(StrategyName(info.param.strategy), "_", NameOf(info.param));
});

}  // namespace
}  // namespace crossover::tests
