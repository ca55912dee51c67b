#include "experiments/hosts/host_programs.h"

#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/status.h"
#include "experiments/hosts/sha256.h"
#include "experiments/machine.h"

namespace crossover::experiments {
namespace {

constexpr double kHashTimeoutS = 120;
// Beside the program itself: logs and reports of a run.
constexpr int64_t kSpareBytes = int64_t{64} << 20;

// The Debian package that this machine has the library from; "" if it does not say.
std::string PackageOf(const std::string& library) {
  const std::string answer = OutputOf({"dpkg", "-S", absl::StrCat("*/", library)}).value_or("");
  const size_t end = answer.find_first_of(":,");
  return end == std::string::npos ? "" : answer.substr(0, end);
}

absl::Status CheckLibraries(HostConnection& host, const std::string& name,
                            const std::string& path) {
  AgentMessage request;
  request.fields = {{"do", "libraries"}, {"path", path}};
  ASSIGN_OR_RETURN(const AgentMessage answer, host.Request(request));
  const std::string missing = answer.Text("missing");
  if (missing.empty()) return absl::OkStatus();
  std::set<std::string> names;
  std::set<std::string> packages;
  for (const absl::string_view line : absl::StrSplit(missing, '\n')) {
    const std::string library = MissingName(line);
    names.insert(library);
    const std::string package = PackageOf(library);
    if (!package.empty()) packages.insert(package);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      host.name(), ": the ", name, " cannot be loaded there, which lacks ",
      absl::StrJoin(names, ", "), "; fix: ",
      packages.empty() ? "the same release of Debian as here"
                       : absl::StrCat("apt-get install ", absl::StrJoin(packages, " "))));
}

}  // namespace

std::string MissingName(absl::string_view line) {
  const size_t quote = line.find('`');
  if (quote != absl::string_view::npos) {
    return std::string(line.substr(quote + 1, line.find('\'', quote) - quote - 1));
  }
  const absl::string_view name = line.substr(0, line.find(" =>"));
  return std::string(absl::StripAsciiWhitespace(name));
}

absl::StatusOr<std::string> PutProgram(HostConnection& host, const std::string& name,
                                       const std::string& path,
                                       const std::function<void(const std::string&)>& say) {
  ASSIGN_OR_RETURN(const FileHash ours, HashFile(path));
  const std::string there =
      absl::StrCat(host.hello().Text("folder"), "/programs/", name, "-", ours.sha256.substr(0, 16));
  AgentMessage hash;
  hash.fields = {{"do", "hash"}, {"path", there}};
  const absl::StatusOr<AgentMessage> found = host.Request(hash, kHashTimeoutS);
  if (!found.ok() || found->Text("sha256") != ours.sha256) {
    const int64_t free_bytes = host.hello().Number("free_bytes");
    if (free_bytes < ours.bytes + kSpareBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          host.name(), ": ", free_bytes >> 20, " MiB are free in ", host.hello().Text("folder"),
          "; needed: ", (ours.bytes + kSpareBytes) >> 20, " MiB; fix: --remote-dir=FOLDER"));
    }
    if (say) say(absl::StrCat(host.name(), ": copying the ", name, ", ", ours.bytes >> 20, " MiB"));
    // A name of its own until it is whole: hosts may share a home.
    const std::string part = absl::StrCat(there, ".", host.name(), ".part");
    RETURN_IF_ERROR(host.PutFile(path, part, 0700));
    AgentMessage rename;
    rename.fields = {{"do", "rename"}, {"from", part}, {"to", there}};
    RETURN_IF_ERROR(host.Request(rename).status());
    ASSIGN_OR_RETURN(const AgentMessage copied, host.Request(hash, kHashTimeoutS));
    if (copied.Text("sha256") != ours.sha256) {
      return absl::DataLossError(absl::StrCat(host.name(), ": the copy of the ", name, " in ",
                                              there, " is not the same build"));
    }
  }
  RETURN_IF_ERROR(CheckLibraries(host, name, there));
  return there;
}

}  // namespace crossover::experiments
