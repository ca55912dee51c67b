#include "lab/namespaces.h"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/check.h"
#include "core/status.h"
#include "lab/command.h"
#include "os/files.h"

namespace crossover::lab {
namespace {

constexpr const char* kNamesFolder = "/run/netns";
constexpr absl::string_view kPrefix = "xo-";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string PathOf(const std::string& name) { return absl::StrCat(kNamesFolder, "/", name); }

// A process that has ended but was not reaped yet owns nothing any more.
bool IsAlive(pid_t pid) {
  if (kill(pid, 0) != 0) return errno != ESRCH;
  const absl::StatusOr<std::string> stat = os::ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!stat.ok()) return true;
  // "PID (NAME) STATE": the name may hold anything, brackets too.
  const size_t name_end = stat->rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat->size() ||
         (*stat)[name_end + 2] != 'Z';
}

}  // namespace

std::string NamespaceName(pid_t owner, std::string_view label, std::string_view node) {
  return absl::StrCat(kPrefix, owner, "-", View(label), label.empty() ? "" : "-", View(node));
}

std::optional<pid_t> NamespaceOwner(std::string_view name) {
  absl::string_view rest = View(name);
  if (!absl::ConsumePrefix(&rest, kPrefix)) return std::nullopt;
  const size_t end = rest.find('-');
  pid_t owner = 0;
  if (end == absl::string_view::npos || end + 1 == rest.size() ||
      rest.substr(0, end).find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(rest.substr(0, end), &owner) || owner <= 0) {
    return std::nullopt;
  }
  return owner;
}

absl::StatusOr<std::vector<std::string>> ListNamespaces() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kNamesFolder, error)) {
    names.push_back(entry.path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::InternalError(absl::StrCat("cannot list ", kNamesFolder, ": ", error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status AddNamespace(const std::string& name) {
  return RunCommand({"ip", "netns", "add", name}).status();
}

absl::Status DeleteNamespace(const std::string& name) {
  return RunCommand({"ip", "netns", "delete", name}).status();
}

absl::StatusOr<std::vector<std::string>> RemoveLeftovers() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListNamespaces());
  std::vector<std::string> removed;
  for (const std::string& name : names) {
    const std::optional<pid_t> owner = NamespaceOwner(name);
    if (!owner.has_value() || IsAlive(*owner)) continue;
    const absl::Status deleted = DeleteNamespace(name);
    if (deleted.ok()) {
      removed.push_back(name);
    } else if (std::filesystem::exists(PathOf(name))) {
      return Annotate(deleted, "cannot remove what a killed process left: ");
    }
  }
  return removed;
}

absl::StatusOr<ScopedNamespace> ScopedNamespace::Enter(const std::string& name) {
  os::UniqueFd home(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home.valid()) return absl::ErrnoToStatus(errno, "cannot open this thread's namespace");
  const os::UniqueFd target(open(PathOf(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!target.valid() || setns(target.get(), CLONE_NEWNET) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot enter the network namespace ", name));
  }
  return ScopedNamespace(std::move(home));
}

ScopedNamespace::~ScopedNamespace() {
  if (!home_.valid()) return;
  CROSSOVER_CHECK(setns(home_.get(), CLONE_NEWNET) == 0,
                  "a thread that could leave its namespace may come back");
}

absl::Status SetNetworkSetting(const std::string& name, const std::string& setting,
                               const std::string& value) {
  ASSIGN_OR_RETURN(const ScopedNamespace inside, ScopedNamespace::Enter(name));
  const std::string path = absl::StrCat("/proc/sys/net/", setting);
  const os::UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid() ||
      write(file.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size())) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot set ", setting, " to '", value, "' in the namespace ", name));
  }
  return absl::OkStatus();
}

}  // namespace crossover::lab
