// Brings labs up for real: needs root, iproute2 and the right to make network namespaces;
// skips, and says so, where one is missing.
#include "lab/network_lab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/status.h"
#include "lab/kernel_links.h"
#include "lab/namespaces.h"
#include "lab/probe.h"
#include "lab/probe_sockets.h"
#include "lab/tap.h"

namespace crossover::lab {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Tries what a lab of the kind is made of.
absl::Status TryParts(LabKind kind) {
  const std::string name = NamespaceName(getpid(), "test", "trial");
  RETURN_IF_ERROR(AddNamespace(name));
  absl::Status tried = kind == LabKind::kSwitch ? OpenTap(name, "eth0").status() : absl::OkStatus();
  RETURN_IF_ERROR(DeleteNamespace(name));
  if (kind != LabKind::kKernel || !tried.ok()) return tried;
  ASSIGN_OR_RETURN(const KernelQdiscs has, FindKernelQdiscs(name));
  return has.tbf ? absl::OkStatus() : absl::NotFoundError("this kernel has no tbf");
}

// Why no lab can be made here; "" if it can.
std::string Obstacle(LabKind kind) {
  if (geteuid() != 0) return "the network lab needs root";
  return std::string(TryParts(kind).message());
}

std::vector<std::string> OwnNamespaces() {
  std::vector<std::string> own;
  const std::vector<std::string> all = ListNamespaces().value();
  for (const std::string& name : all) {
    if (NamespaceOwner(name) == getpid()) own.push_back(name);
  }
  return own;
}

LabOptions Options(LabKind kind, const std::string& network, int workers) {
  LabOptions options;
  options.network = ParseNetworkSpec(network).value();
  options.nodes = WorkersAndServers(workers, 0);
  options.kind = kind;
  options.switch_binary = "lab/switch";
  return options;
}

class NetworkLabTest : public ::testing::TestWithParam<LabKind> {
 protected:
  void SetUp() override {
    const std::string obstacle = Obstacle(GetParam());
    if (!obstacle.empty()) GTEST_SKIP() << "not tested here: " << obstacle;
  }
};

// A busy machine may miss a rate once; a lab that is wrong misses it each time.
absl::Status ProbeWithinThree(NetworkLab& lab) {
  ProbeOptions options;
  options.seconds = 0.8;
  options.round_trips = 10;
  absl::Status last;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const absl::StatusOr<ProbeResult> result = ProbeLab(lab, options);
    last = result.ok() ? CheckProbe(*result) : result.status();
    if (last.ok()) return last;
  }
  return last;
}

TEST_P(NetworkLabTest, KeepsItsRatesCutsItsLinksAndLeavesNothing) {
  auto lab = NetworkLab::Up(Options(GetParam(), "200mbit", 4));
  ASSERT_TRUE(lab.ok()) << lab.status();
  EXPECT_EQ((*lab)->kind(), GetParam());
  EXPECT_THAT((*lab)->Describe(), HasSubstr("4 nodes and control at 200mbit"));
  const absl::Status probed = ProbeWithinThree(**lab);
  EXPECT_TRUE(probed.ok()) << probed;

  const Node& first = (*lab)->nodes()[0];
  const Node& second = (*lab)->nodes()[1];
  const auto connection = Connect(first, second);
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE((*lab)->CutLink("worker1").ok());
  char byte = 'x';
  ASSERT_EQ(write(connection->from.get(), &byte, 1), 1);
  SystemClock clock;
  clock.SleepNs(500'000'000);  // a retransmission or two
  EXPECT_EQ(read(connection->to.get(), &byte, 1), -1) << "it passed a link that is cut";
  ASSERT_TRUE((*lab)->RestoreLink("worker1").ok());
  ssize_t received = -1;
  for (int i = 0; i < 200 && received < 0; ++i) {
    clock.SleepNs(50'000'000);
    received = read(connection->to.get(), &byte, 1);
  }
  EXPECT_EQ(received, 1) << "the link is not restored";

  EXPECT_THAT(std::string((*lab)->CutLink("worker9").message()), HasSubstr("'worker9'"));
  EXPECT_FALSE(OwnNamespaces().empty());
  EXPECT_TRUE((*lab)->Down().ok());
  EXPECT_THAT(OwnNamespaces(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, NetworkLabTest,
                         ::testing::Values(LabKind::kKernel, LabKind::kSwitch),
                         [](const auto& kind) {
                           return kind.param == LabKind::kKernel ? "Kernel" : "Switch";
                         });

using SwitchLabTest = NetworkLabTest;
INSTANTIATE_TEST_SUITE_P(Kinds, SwitchLabTest, ::testing::Values(LabKind::kSwitch));
using KernelLabTest = NetworkLabTest;
INSTANTIATE_TEST_SUITE_P(Kinds, KernelLabTest, ::testing::Values(LabKind::kKernel));

TEST_P(SwitchLabTest, DelaysAndLoses) {
  LabOptions options = Options(LabKind::kAuto, "100mbit,5ms,loss=5%", 2);
  auto lab = NetworkLab::Up(options);
  ASSERT_TRUE(lab.ok()) << lab.status();
  EXPECT_EQ((*lab)->kind(), LabKind::kSwitch) << "loss needs the switch";
  // With the losses off, as a probe has them, the full rate and the delay.
  const absl::Status probed = ProbeWithinThree(**lab);
  EXPECT_TRUE(probed.ok()) << probed;
  EXPECT_THAT((*lab)->SwitchStatistics(), HasSubstr("lost_frames=0"));
  // With them on, one flow falls far short and frames are lost.
  const auto connection = Connect((*lab)->nodes()[0], (*lab)->nodes()[1]);
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE((*lab)->SetLoss("worker0", 0.5).ok());
  for (int i = 0; i < 20; ++i) {
    // Half of the frames lost, TCP may give up.
    if (!RoundTripUs(*connection, (*lab)->nodes()[0], (*lab)->nodes()[1]).ok()) break;
    if ((*lab)->SwitchStatistics().find("lost_frames=0; worker1") == std::string::npos) break;
  }
  EXPECT_THAT((*lab)->SwitchStatistics(), Not(HasSubstr("lost_frames=0; worker1")));
}

TEST_P(KernelLabTest, RatesByRoleBesideAnUnshapedLab) {
  LabOptions options = Options(LabKind::kKernel, "worker=50mbit,server=200mbit", 2);
  options.nodes = WorkersAndServers(2, 1);
  auto lab = NetworkLab::Up(options);
  ASSERT_TRUE(lab.ok()) << lab.status();
  const absl::Status probed = ProbeWithinThree(**lab);
  EXPECT_TRUE(probed.ok()) << probed;

  options.label = "unshaped";
  ProbeOptions probe_options;
  probe_options.seconds = 0.3;
  const absl::StatusOr<ProbeResult> unshaped = ProbeUnshaped(options, probe_options);
  ASSERT_TRUE(unshaped.ok()) << unshaped.status();
  EXPECT_GT(TotalBytesPerS(*unshaped), 6 * TcpPayloadBytesPerS(50e6));
  EXPECT_TRUE(CheckProbe(*unshaped).ok()) << "nothing was promised";
  EXPECT_EQ(OwnNamespaces().size(), 5) << "the lab that was up already: 3, control, bridge";
}

TEST_P(KernelLabTest, SetLossSaysWhatItNeeds) {
  auto lab = NetworkLab::Up(Options(LabKind::kKernel, "100mbit", 2));
  ASSERT_TRUE(lab.ok()) << lab.status();
  EXPECT_THAT(std::string((*lab)->SetLoss("worker0", 0.05).message()),
              HasSubstr("need_loss_control"));
}

TEST_P(KernelLabTest, WhatCannotBeDoneLeavesNothing) {
  LabOptions options = Options(LabKind::kKernel, "100mbit", 3);
  options.congestion_control = "no_such_control";
  EXPECT_THAT(std::string(NetworkLab::Up(options).status().message()),
              HasSubstr("'no_such_control' (this kernel has: "));
  EXPECT_THAT(OwnNamespaces(), IsEmpty());

  options = Options(LabKind::kKernel, "100mbit", 3);
  int asked = 0;
  options.cancelled = [&] { return ++asked > 2; };
  EXPECT_EQ(NetworkLab::Up(options).status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(OwnNamespaces(), IsEmpty());

  options = Options(LabKind::kSwitch, "100mbit", 3);
  options.switch_binary = "/no/such/switch";
  EXPECT_THAT(std::string(NetworkLab::Up(options).status().message()),
              HasSubstr("/no/such/switch"));
  EXPECT_THAT(OwnNamespaces(), IsEmpty());
}

TEST_P(NetworkLabTest, LabsOfTwoProcessesStandSideBySideAndAKilledOnesIsRemoved) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto lab = NetworkLab::Up(Options(GetParam(), "100mbit", 2));
    const char up = lab.ok() ? 'y' : 'n';
    _exit(write(ready[1], &up, 1) == 1 && pause() == 0 ? 0 : 1);
  }
  char up = 0;
  ASSERT_EQ(read(ready[0], &up, 1), 1);
  EXPECT_EQ(up, 'y');
  const std::string of_child = NamespaceName(child, "", "worker0");
  {
    auto lab = NetworkLab::Up(Options(GetParam(), "100mbit", 2));
    ASSERT_TRUE(lab.ok()) << lab.status();
    EXPECT_THAT(ListNamespaces().value(), Contains(of_child)) << "its owner lives";
  }
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THAT(ListNamespaces().value(), Contains(of_child));
  auto lab = NetworkLab::Up(Options(GetParam(), "100mbit", 2));
  ASSERT_TRUE(lab.ok()) << lab.status();
  EXPECT_THAT(ListNamespaces().value(), Each(Not(HasSubstr(absl::StrCat("xo-", child, "-")))));
  close(ready[0]);
  close(ready[1]);
}

TEST(NetworkLabOptionsTest, WrongNodesAreRefused) {
  if (geteuid() != 0) {
    EXPECT_EQ(NetworkLab::Up({}).status().code(), absl::StatusCode::kPermissionDenied);
    GTEST_SKIP() << "the rest is not tested here: the network lab needs root";
  }
  for (const char* name : {"", "control", "bridge", "Worker", "a b", "../x"}) {
    LabOptions options;
    options.nodes = {{name, "worker"}};
    EXPECT_EQ(NetworkLab::Up(options).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  LabOptions options;
  EXPECT_EQ(NetworkLab::Up(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.nodes = {{"a", "worker"}, {"a", "worker"}};
  EXPECT_THAT(std::string(NetworkLab::Up(options).status().message()), HasSubstr("'a'"));
}

}  // namespace
}  // namespace crossover::lab
