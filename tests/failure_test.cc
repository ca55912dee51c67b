// Every failure by role, kind and moment: each cell of the matrix hits one process of a
// real run, and expects either that the run goes on or that every process ends within the
// deadline, with one line that names the culprit. Nothing stays running, no secret is left
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "experiments/lab_session.h"
#include "lab/namespaces.h"
#include "lab/network_lab.h"
#include "os/files.h"
#include "tests/cluster_fixture.h"
#include "tests/failure_case.h"

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
  // Null with the reason where this machine cannot make it.
  lab::NetworkLab* Get(std::string& why) {
    if (lab_ == nullptr && why_.empty()) BringUp();
    why = why_;
    return lab_.get();
  }

 private:
  void BringUp() {
    if (geteuid() != 0) {
      why_ = "a network lab needs root";
      return;
    }
    lab::LabOptions options;
    options.network = lab::ParseNetworkSpec("1gbit").value();
    options.nodes = lab::WorkersAndServers(kMatrixWorkers, kMatrixServers);
    options.need_loss_control = true;
    options.switch_binary = "lab/switch";
    auto up = lab::NetworkLab::Up(options);
    if (up.ok()) {
      lab_ = *std::move(up);
    } else {
      why_ = std::string(up.status().message());
    }
  }
  std::unique_ptr<lab::NetworkLab> lab_;
  std::string why_;
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
    const std::string log = os::ReadFile(absl::StrCat(testing::TempDir(), "/", FolderOf(cell), "/",
                                                      net::RoleName(role), "-", rank, ".log"))
                                .value_or("no log");
    EXPECT_THAT(log, HasSubstr(absl::StrCat(lost, " at "))) << net::ProcessName(role, rank);
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
  if (cell.moment != Moment::kBeforeJoin) {
    EXPECT_THAT(message, AnyOf(HasSubstr(" at 127.0.0.1:"), HasSubstr(" at 10.77.0.")));
    EXPECT_THAT(message, HasSubstr("in step "));
  }
}

class Failure : public testing::TestWithParam<FailureCase> {};

// The launcher is this test itself, so that its network can be cut too. What signals do to
// the compare binary: compare_failure_test.
TEST_P(Failure, EndsOrGoesOnAndNamesTheCulprit) {
  const FailureCase& cell = GetParam();
  lab::NetworkLab* lab = nullptr;
  std::optional<lab::ScopedNamespace> control;
  if (NeedsLab(cell)) {
    std::string why;
    lab = shared_lab->Get(why);
    if (lab == nullptr) GTEST_SKIP() << "no network lab here: " << why;
    auto entered = lab::ScopedNamespace::Enter(lab->control().network_namespace);
    ASSERT_TRUE(entered.ok()) << entered.status();
    control.emplace(*std::move(entered));
  }
  const SystemClock clock;
  Striker striker(cell, lab, clock);
  const absl::StatusOr<Outcome> outcome =
      RunJobWith(JobFor(cell), FolderOf(cell), [&](ClusterOptions& options) {
        if (lab != nullptr)
          options.sites = experiments::SitesInLab(*lab, proto::Comparison::dedicated);
        options.on_started = [&](const std::vector<int>& pids) { striker.OnStarted(pids); };
        options.on_progress = [&](const std::vector<MemberState>& members) {
          striker.OnProgress(members);
        };
      });
  ASSERT_TRUE(striker.struck()) << "the moment never came: " << outcome.status();
  ExpectTheEnd(cell, outcome.status(), striker.SinceStrikeS());
  for (const int pid : striker.pids()) EXPECT_FALSE(IsRunning(pid));
  EXPECT_FALSE(
      std::filesystem::exists(absl::StrCat(testing::TempDir(), "/", FolderOf(cell), "/token")));
  const bool known = cell.moment == Moment::kInAStep && cell.victim != Victim::kCompare;
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
