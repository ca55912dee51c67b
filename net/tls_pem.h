// The certificate and key of a run whose gRPC connections are encrypted (net/grpc_setup.h). All of
// its processes hold both, beside the token (net/identity.h): each proves itself with them and
// believes nobody else. Stateless, thread-safe.
#ifndef CROSSOVER_NET_TLS_PEM_H_
#define CROSSOVER_NET_TLS_PEM_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::net {

// Whom the certificate is for, whatever host a process runs on.
inline constexpr char kTlsName[] = "crossover";

// A new key (P-256) and a certificate for it that it signed itself, for the name "crossover", valid
// from yesterday for a year. PEM.
absl::StatusOr<std::string> MakeTlsPem();

// Refuses what is not, in either order, one certificate for the name "crossover" that is valid now
// and its private key, without a passphrase.
absl::Status CheckTlsPem(const std::string& pem);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TLS_PEM_H_
