#include "bench/shared/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace crossover::bench {

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Make(const std::string& program) {
  std::string path = std::filesystem::temp_directory_path() / absl::StrCat(program, "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", path));
  }
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(path));
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace crossover::bench
