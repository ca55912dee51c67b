#include "experiments/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/status.h"
#include "lab/command.h"
#include "os/environment.h"
#include "os/usable_cores.h"

namespace crossover::experiments {
namespace {

// The value of the first line of /proc/cpuinfo that starts with "model name".
std::string CpuModel() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

void AddPackageVersions(Environment& environment) {
  const std::string packages =
      OutputOf({"dpkg-query", "-W", "-f=${Package} ${Version}\\n", "libgrpc++1.51", "libprotobuf32",
                "libtorch1.13", "libopenblas0-openmp"})
          .value_or("");
  std::istringstream lines(packages);
  for (std::string package, version; lines >> package >> version;) {
    environment.versions[package] = version;
  }
  const std::string overrides = os::BlasOverrides();
  if (!overrides.empty()) environment.versions["BLAS overrides"] = overrides;
}

}  // namespace

std::string QuoteForShell(const std::string& argument) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:@%+";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
    return argument;
  }
  return absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}), "'");
}

absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command) {
  ASSIGN_OR_RETURN(std::string output, lab::RunCommand(command));
  if (output.ends_with('\n')) output.pop_back();
  return output;
}

Environment DescribeMachine(const std::string& source_tree) {
  Environment environment;
  environment.cpu_model = CpuModel();
  environment.cores = os::UsableCores();
  environment.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  utsname system{};
  if (uname(&system) == 0) {
    environment.kernel = absl::StrCat(system.sysname, " ", system.release);
    environment.hostname = system.nodename;
  }
  environment.compiler = absl::StrCat("g++ ", __VERSION__);
  if (!source_tree.empty()) {
    environment.git_commit = OutputOf({"git", "-C", source_tree, "rev-parse", "HEAD"}).value_or("");
    environment.git_dirty =
        !OutputOf({"git", "-C", source_tree, "status", "--porcelain"}).value_or("").empty();
  }
  AddPackageVersions(environment);
  return environment;
}

}  // namespace crossover::experiments
