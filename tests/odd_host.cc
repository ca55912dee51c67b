#include "tests/odd_host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "lab/command.h"
#include "os/files.h"

namespace crossover::tests {
namespace {

// As root of this machine, but bound by the files' permissions.
constexpr char kNoOverride[] = "setpriv --bounding-set=-dac_override,-dac_read_search --";

std::string Absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

// `odd` begins a command that runs the program, its arguments after it.
void WriteScript(const std::string& program, int rank, const std::string& odd,
                 const std::string& path) {
  const std::string script = absl::Substitute(
      "#!/bin/sh\n"
      "case \" $$* \" in\n"
      "*' --rank=$1 '*) exec $2 '$0' \"$$@\" ;;\n"
      "*) exec '$0' \"$$@\" ;;\n"
      "esac\n",
      Absolute(program), rank, odd);
  EXPECT_EQ(os::WriteFile(path, script, 0755), absl::OkStatus());
}

std::string TimeNamespace() {
  return absl::StrCat("unshare --time --monotonic=", static_cast<int64_t>(kMonotonicAheadS),
                      " --fork --kill-child --");
}

}  // namespace

std::string WhyNoOddHost() {
  if (geteuid() != 0) return "namespaces of a process need root";
  for (const std::string& prefix :
       {TimeNamespace(), absl::StrCat("unshare --mount -- ", kNoOverride)}) {
    const auto ran = lab::RunCommand({"/bin/sh", "-c", absl::StrCat(prefix, " true")});
    if (!ran.ok()) return std::string(ran.status().message());
  }
  return "";
}

void WriteProgramWithWrongClocks(const std::string& program, int rank, const std::string& path) {
  WriteScript(program, rank,
              absl::StrCat(TimeNamespace(), " env 'LD_PRELOAD=", Absolute("tests/wrong_clock.so"),
                           "' sh -c 'date +%s; exec \"$0\" \"$@\"'"),
              path);
}

void WriteProgramThatMayNotRead(const std::string& file, const std::string& program, int rank,
                                const std::string& path) {
  const std::string hidden = path + ".hidden";
  EXPECT_EQ(os::WriteFile(hidden, "", 0), absl::OkStatus());
  WriteScript(program, rank,
              absl::Substitute("unshare --mount -- sh -c "
                               "'mount --bind \"$$0\" \"$$1\" && shift && exec $0 \"$$@\"' "
                               "'$1' '$2'",
                               kNoOverride, hidden, Absolute(file)),
              path);
}

}  // namespace crossover::tests
