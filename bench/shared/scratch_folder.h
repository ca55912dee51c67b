// A folder that goes with the program.
#ifndef CROSSOVER_BENCH_SHARED_SCRATCH_FOLDER_H_
#define CROSSOVER_BENCH_SHARED_SCRATCH_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace crossover::bench {

// Removed, with what it holds, on destruction.
class ScratchFolder {
 public:
  // PROGRAM-XXXXXX in the system's folder for such.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make(const std::string& program);
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_SHARED_SCRATCH_FOLDER_H_
