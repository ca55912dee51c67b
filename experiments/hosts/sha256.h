// SHA-256 by OpenSSL: whether a program or a data file is the same on two hosts; what
// `sha256sum` prints. Not thread-safe; nothing but HashFile blocks.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_SHA256_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_SHA256_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

struct evp_md_ctx_st;  // OpenSSL's

namespace crossover::experiments {

class Sha256 {
 public:
  Sha256();
  void Add(std::string_view bytes);
  // 64 hexadecimal digits. Nothing may be added after it.
  std::string Finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

struct FileHash {
  std::string sha256;
  int64_t bytes = 0;
};
// Of a whole file. Blocks; errors name it.
absl::StatusOr<FileHash> HashFile(const std::string& path);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_SHA256_H_
