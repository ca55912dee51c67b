// Who may talk to whom: a run's secret token and its job's fingerprint travel
// with every connection, in gRPC metadata or in the TCP handshake, and are
// checked before anything else is believed. Plain values, thread-safe to share.
#ifndef CROSSOVER_NET_IDENTITY_H_
#define CROSSOVER_NET_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::net {

enum class Role { kWorker, kServer };
const char* RoleName(Role role);  // "worker", "server"

// Fits a gRPC header and the TCP handshake.
inline constexpr size_t kTokenCharactersMin = 16;
inline constexpr size_t kTokenCharactersMax = 256;

struct Identity {
  uint64_t job_fingerprint = 0;
  std::string token;  // of 16 to 256 printable ASCII characters without spaces
  Role role = Role::kWorker;
  int rank = 0;
  std::string tls_pem = {};  // the run's certificate and key (net/tls_pem.h); "": gRPC without TLS
};

// "worker 3": how every message names a process.
std::string ProcessName(Role role, int rank);

// 128 random bits from the operating system, as 32 hexadecimal digits.
std::string MakeToken();
// Reads a token from a file: one line of 16 to 256 printable ASCII characters without
// spaces. As ssh does with keys, refuses a file that others than its owner may read or write.
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);
// Reads a certificate with its key (net/tls_pem.h) from a file of at most 64 KiB that, again, only
// its owner may read or write.
absl::StatusOr<std::string> ReadTlsFile(const std::string& path);
// Takes the same time wherever two tokens of one length differ.
bool TokensEqual(std::string_view a, std::string_view b);
// Refuses a stranger: wrong token first, then another job. The message says
// which, never the token. `who` names the caller ("worker 1 at 10.0.0.2:4000").
absl::Status CheckCaller(const Identity& ours, uint64_t fingerprint, std::string_view token,
                         std::string_view who);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_IDENTITY_H_
