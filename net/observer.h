// Who watches a run without being one of its processes shows the run's token alone, since it
// need not know the job. Thread-safe.
#ifndef CROSSOVER_NET_OBSERVER_H_
#define CROSSOVER_NET_OBSERVER_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/status.h"
#include "net/identity.h"

namespace crossover::net {

// Puts the token into a call's metadata, before the call starts; as SetCallIdentity's.
void SetObserverToken(const std::string& token, grpc::ClientContext& context);

// PermissionDenied where the caller's token is not ours.
absl::Status CheckObserver(const Identity& ours, const grpc::ServerContextBase& context);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_OBSERVER_H_
