#include "experiments/hosts/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/check.h"

namespace crossover::experiments {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  CROSSOVER_CHECK(
      context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
      "OpenSSL has SHA-256");
}

void Sha256::Add(std::string_view bytes) {
  CROSSOVER_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1,
                  "nothing is added after Finish");
}

std::string Sha256::Finish() {
  std::array<unsigned char, 32> digest;
  CROSSOVER_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1,
                  "Finish is called once");
  std::string text;
  for (const unsigned char byte : digest) absl::StrAppend(&text, absl::StrFormat("%02x", byte));
  return text;
}

absl::StatusOr<FileHash> HashFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  std::vector<char> buffer(1 << 18);
  Sha256 hash;
  FileHash result;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    hash.Add({buffer.data(), count});
    result.bytes += static_cast<int64_t>(count);
  }
  if (std::ferror(file.get()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  }
  result.sha256 = hash.Finish();
  return result;
}

}  // namespace crossover::experiments
