// SHA-256 (FIPS 180-4): whether a program or a data file is the same on two hosts; what
// `sha256sum` prints. Not thread-safe; a pure state machine.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_SHA256_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_SHA256_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace crossover::experiments {

class Sha256 {
 public:
  void Add(std::string_view bytes);
  // 64 hexadecimal digits. Nothing may be added after it.
  std::string Finish();

 private:
  void AddBlock(const unsigned char* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_ = {};
  uint64_t bytes_ = 0;
};

struct FileHash {
  std::string sha256;
  int64_t bytes = 0;
};
// Of a whole file. Blocks; errors name it.
absl::StatusOr<FileHash> HashFile(const std::string& path);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_SHA256_H_
