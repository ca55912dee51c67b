#include "bench/comm_fixture.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "os/files.h"
#include "tests/child_processes.h"

namespace crossover::bench {

using experiments::ChildProcess;

CommTest::CommTest() {
  const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat("comm-", info.test_suite_name(), "-", info.name());
  std::replace(name.begin(), name.end(), '/', '-');
  directory_ = absl::StrCat(testing::TempDir(), "/", name);
  std::filesystem::remove_all(directory_);
  std::filesystem::create_directories(directory_);
}

ChildProcess CommTest::Start(const std::vector<std::string>& flags, const std::string& log,
                             const std::string& network_namespace) {
  std::vector<std::string> arguments = {kBinary};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  auto child = ChildProcess::Start({.arguments = arguments,
                                    .log_path = absl::StrCat(directory_, "/", log),
                                    .network_namespace = network_namespace});
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

int CommTest::Wait(ChildProcess& child) {
  for (int i = 0; i < 300; ++i) {
    if (const auto ended = child.Poll()) return ended->signal == 0 ? ended->code : -ended->signal;
    signals_.Wait(0.1);
  }
  return -1000;
}

std::string CommTest::Log(const std::string& log) const {
  return os::ReadFile(absl::StrCat(directory_, "/", log)).value_or("");
}

std::vector<Record> CommTest::Lines(const std::string& path) const {
  const auto text = os::ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  const auto records = ReadRecords(text.value_or(""));
  EXPECT_TRUE(records.ok()) << records.status();
  return records.value_or(std::vector<Record>());
}

pid_t CommTest::RankOf(const ChildProcess& test, int rank) {
  const std::string word = absl::StrCat("--rank=", rank);
  for (int i = 0; i < 200; ++i) {
    const pid_t pid = WithArgument(tests::ChildrenOf(test.pid()), word);
    if (pid != 0) return pid;
    signals_.Wait(0.05);
  }
  ADD_FAILURE() << "no process with " << word << "; " << Log();
  return 0;
}

bool CommTest::AreGone(const std::vector<pid_t>& pids, double seconds) {
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(seconds * 1e9);
  while (std::any_of(pids.begin(), pids.end(), Lives)) {
    if (clock_.NowNs() > deadline_ns) return false;
    signals_.Wait(0.05);
  }
  return true;
}

pid_t WithArgument(const std::vector<int>& pids, const std::string& word) {
  for (const int pid : pids) {
    const std::string line = os::ReadFile(absl::StrCat("/proc/", pid, "/cmdline")).value_or("");
    const std::vector<std::string> words = absl::StrSplit(line, '\0');
    if (std::find(words.begin(), words.end(), word) != words.end()) return pid;
  }
  return 0;
}

bool Lives(pid_t pid) {
  const std::string stat = os::ReadFile(absl::StrCat("/proc/", pid, "/stat")).value_or("");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") != 0;
}

}  // namespace crossover::bench
