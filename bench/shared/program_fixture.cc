#include "bench/shared/program_fixture.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "os/files.h"
#include "tests/child_processes.h"

namespace crossover::bench {

using experiments::ChildProcess;

ProgramTest::ProgramTest(std::string binary) : binary_(std::move(binary)) {
  const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat("program-", info.test_suite_name(), "-", info.name());
  std::replace(name.begin(), name.end(), '/', '-');
  directory_ = absl::StrCat(testing::TempDir(), "/", name);
  std::filesystem::remove_all(directory_);
  std::filesystem::create_directories(directory_);
}

ChildProcess ProgramTest::Start(const std::vector<std::string>& flags, const std::string& log,
                                const std::string& network_namespace) {
  std::vector<std::string> arguments = {binary_};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  auto child = ChildProcess::Start({.arguments = arguments,
                                    .log_path = absl::StrCat(directory_, "/", log),
                                    .network_namespace = network_namespace});
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

int ProgramTest::Wait(ChildProcess& child) {
  for (int i = 0; i < 300; ++i) {
    if (const auto ended = child.Poll()) return ended->signal == 0 ? ended->code : -ended->signal;
    signals_.Wait(0.1);
  }
  return -1000;
}

std::string ProgramTest::Log(const std::string& log) const {
  return os::ReadFile(absl::StrCat(directory_, "/", log)).value_or("");
}

pid_t ProgramTest::ProcessWith(const ChildProcess& program, const std::vector<std::string>& words) {
  for (int i = 0; i < 1200; ++i) {  // a lab may be tried at several rates first
    const pid_t pid = WithArguments(tests::ChildrenOf(program.pid()), words);
    if (pid != 0) return pid;
    signals_.Wait(0.05);
  }
  ADD_FAILURE() << "no process with " << absl::StrJoin(words, " ") << "; " << Log();
  return 0;
}

bool ProgramTest::AreGone(const std::vector<pid_t>& pids, double seconds) {
  const int64_t deadline_ns = clock_.NowNs() + static_cast<int64_t>(seconds * 1e9);
  while (std::any_of(pids.begin(), pids.end(), Lives)) {
    if (clock_.NowNs() > deadline_ns) return false;
    signals_.Wait(0.05);
  }
  return true;
}

pid_t WithArguments(const std::vector<int>& pids, const std::vector<std::string>& words) {
  for (const int pid : pids) {
    const std::string line = os::ReadFile(absl::StrCat("/proc/", pid, "/cmdline")).value_or("");
    const std::vector<std::string> found = absl::StrSplit(line, '\0');
    const auto has = [&found](const std::string& word) {
      return std::any_of(found.begin(), found.end(), [&word](const std::string& argument) {
        return word.front() == '/' ? absl::EndsWith(argument, word) : argument == word;
      });
    };
    if (std::all_of(words.begin(), words.end(), has)) return pid;
  }
  return 0;
}

bool Lives(pid_t pid) {
  const std::string stat = os::ReadFile(absl::StrCat("/proc/", pid, "/stat")).value_or("");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") != 0;
}

}  // namespace crossover::bench
