#include "os/environment.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace crossover::os {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string ResolveUserPath(const std::string& path) {
  const std::string stood = Variable("BUILD_WORKING_DIRECTORY");
  if (path.empty() || path.front() == '/' || stood.empty()) return path;
  return (std::filesystem::path(stood) / path).lexically_normal().string();
}

std::string SourceTree() { return Variable("BUILD_WORKSPACE_DIRECTORY"); }

std::string SshConnection() { return Variable("SSH_CONNECTION"); }

std::string BlasOverrides() {
  std::string overrides;
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) {
    const std::string value = Variable(name);
    if (value.empty()) continue;
    absl::StrAppend(&overrides, overrides.empty() ? "" : " ", name, "=", value);
  }
  return overrides;
}

void SetUnlessSet(const char* name, const char* value) { setenv(name, value, /*overwrite=*/0); }

}  // namespace crossover::os
