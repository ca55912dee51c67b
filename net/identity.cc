#include "net/identity.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/check.h"
#include "core/status.h"
#include "net/tls_pem.h"

namespace crossover::net {
namespace {

constexpr size_t kTokenBytes = 16;
constexpr size_t kTlsBytesMax = 64 << 10;
// Whatever a group or everybody may do.
constexpr mode_t kOthersMode = S_IRWXG | S_IRWXO;

// At most so many bytes of a file that is for its owner alone.
absl::StatusOr<std::string> ReadSecret(const char* what, const std::string& path,
                                       size_t bytes_max) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), fclose);
  struct stat status = {};
  if (file == nullptr || fstat(fileno(file.get()), &status) != 0) {
    return absl::NotFoundError(
        absl::StrCat(what, " ", path, " cannot be read: ", std::strerror(errno)));
  }
  if (S_ISREG(status.st_mode) && (status.st_mode & kOthersMode) != 0) {
    return absl::PermissionDeniedError(
        absl::StrFormat("%s %s has mode %04o: others than its owner can read or write it; fix: "
                        "chmod 600 %s",
                        what, path, status.st_mode & 07777, path));
  }
  std::string text(bytes_max, '\0');
  text.resize(fread(text.data(), 1, text.size(), file.get()));
  if (ferror(file.get()) != 0) {
    return absl::UnavailableError(absl::StrCat(what, " ", path, ": read error"));
  }
  return text;
}

}  // namespace

const char* RoleName(Role role) { return role == Role::kWorker ? "worker" : "server"; }

std::string ProcessName(Role role, int rank) { return absl::StrCat(RoleName(role), " ", rank); }

std::string MakeToken() {
  std::array<char, kTokenBytes> bytes;
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    CROSSOVER_CHECK(got > 0 || errno == EINTR, "the kernel always has random bytes");
    if (got > 0) filled += static_cast<size_t>(got);
  }
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  // One more than allowed, and the end of the line, so that too long is seen as such.
  ASSIGN_OR_RETURN(std::string text, ReadSecret("token file", path, kTokenCharactersMax + 3));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();

  for (const char c : text) {
    // Also what a gRPC header can carry as it stands.
    if (c < '!' || c > '~') {
      return absl::InvalidArgumentError(absl::StrCat(
          "token file ", path, " must hold one line of printable characters without spaces"));
    }
  }
  if (text.size() < kTokenCharactersMin || text.size() > kTokenCharactersMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("token file %s holds a token of %d characters%s; %d to %d are allowed",
                        path, text.size(), text.size() > kTokenCharactersMax ? " or more" : "",
                        kTokenCharactersMin, kTokenCharactersMax));
  }
  return text;
}

absl::StatusOr<std::string> ReadTlsFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadSecret("TLS file", path, kTlsBytesMax + 1));
  if (text.size() > kTlsBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("TLS file ", path, " has more than ", kTlsBytesMax,
                     " bytes; allowed: one certificate and its private key, as PEM"));
  }
  RETURN_IF_ERROR(Annotate(CheckTlsPem(text), absl::StrCat("TLS file ", path, ": ")));
  return text;
}

bool TokensEqual(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // volatile: the compiler must not leave the loop at the first difference.
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

absl::Status CheckCaller(const Identity& ours, uint64_t fingerprint, std::string_view token,
                         std::string_view who) {
  const absl::string_view caller(who.data(), who.size());
  if (!TokensEqual(ours.token, token)) {
    return absl::PermissionDeniedError(
        absl::StrCat(caller, " has the wrong token: give every process of a run the same token"));
  }
  if (ours.job_fingerprint != fingerprint) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s runs another job (fingerprint %016x, here %016x): start every process "
                        "of a run with the same job and flags",
                        caller, fingerprint, ours.job_fingerprint));
  }
  return absl::OkStatus();
}

}  // namespace crossover::net
