#include "os/profile_file.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job.h"
#include "core/layer_profile.h"
#include "core/status.h"
#include "os/environment.h"
#include "os/files.h"

namespace crossover::os {
namespace {

constexpr char kExtension[] = ".textproto";
constexpr char kShipped[] = "experiments/profiles";

std::vector<std::string> ShippedNames(const std::vector<std::string>& directories) {
  std::set<std::string> names;
  for (const std::string& directory : directories) {
    std::error_code error;  // one that does not exist has none
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      if (entry.path().extension() == kExtension) names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

absl::Status UnknownName(const std::string& name, const std::vector<std::string>& directories) {
  const std::vector<std::string> names = ShippedNames(directories);
  const std::string file = absl::StrCat("a file's path (with a / or ending in ", kExtension, ")");
  if (names.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "emulated.profile is \"", name, "\", and no profiles are shipped beside this program (",
        absl::StrJoin(directories, ", "), "); allowed: ", file));
  }
  const std::string nearest = NearestName(name, names);
  return absl::NotFoundError(absl::StrCat(
      "emulated.profile is \"", name, "\"; allowed: ", absl::StrJoin(names, ", "), ", or ", file,
      "; fix: --emulated.profile=", nearest.empty() ? names.front() : nearest));
}

bool IsFile(const std::string& name) {
  return absl::StrContains(name, "/") || absl::EndsWith(name, kExtension);
}

absl::StatusOr<proto::LayerProfile> ReadProfileFile(const std::string& path,
                                                    const std::string& shown) {
  const absl::StatusOr<std::string> text = ReadFile(path, kSettingsBytesMax);
  RETURN_IF_ERROR(Annotate(text.status(), "emulated.profile is a file: "));
  return ParseProfile(*text, shown);
}

}  // namespace

absl::StatusOr<proto::LayerProfile> ReadProfile(const std::string& name,
                                                const std::vector<std::string>& directories) {
  if (IsFile(name)) return ReadProfileFile(ResolveUserPath(name), name);
  for (const std::string& directory : directories) {
    const std::string path = absl::StrCat(directory, "/", name, kExtension);
    std::error_code error;
    if (std::filesystem::exists(path, error)) return ReadProfileFile(path, path);
  }
  return UnknownName(name, directories);
}

std::vector<std::string> ProfileDirectories() {
  std::vector<std::string> directories = {kShipped};
  if (const std::string tree = SourceTree(); !tree.empty()) {
    directories.push_back(absl::StrCat(tree, "/", kShipped));
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    directories.push_back(absl::StrCat(self.string(), ".runfiles/crossover/", kShipped));
  }
  return directories;
}

}  // namespace crossover::os
