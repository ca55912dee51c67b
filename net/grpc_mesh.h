// Makes the streams of a full mesh, one a pair of ranks: the lower rank calls. Callers without the
// job's token and fingerprint in their metadata are refused before they can say anything; whoever
// passed says its rank and the number of ranks in a greeting, which is checked too and answered.
#ifndef CROSSOVER_NET_GRPC_MESH_H_
#define CROSSOVER_NET_GRPC_MESH_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/grpc_endpoint.h"
#include "net/grpc_setup.h"
#include "net/grpc_stream.h"
#include "net/identity.h"

namespace crossover::net {

// A rank's gRPC server, and all streams that it has to other ranks, whoever called. Thread-safe
// where nothing else is said. Destroying ends all streams and waits until gRPC is done with them.
class GrpcHub final : public grpc::CallbackGenericService {
 public:
  struct Accepted {
    GrpcStream* stream;
    int rank;          // by its metadata
    std::string from;  // its address
  };

  // `address` as StartServer's, `tls_pem` as in Identity.
  static absl::StatusOr<std::unique_ptr<GrpcHub>> Start(const std::string& address,
                                                        const std::string& tls_pem);
  ~GrpcHub() override;

  const std::string& address() const { return running_.address; }
  GrpcGate& gate() { return gate_; }

  // All of these with the gate's mutex held.
  // From now on callers who know our token and job are accepted; before, they are told to try
  // again, and after CloseDoor they are refused.
  void OpenDoor(const Identity& ours) { ours_ = ours; }
  void CloseDoor() { closed_ = true; }
  // Who was accepted since the last call.
  std::vector<Accepted> TakeAccepted() { return std::exchange(accepted_, {}); }
  GrpcStream& Call(const std::shared_ptr<grpc::Channel>& channel);
  // A stream that is done and that nobody needs.
  void Discard(GrpcStream& stream);

  // gRPC's.
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  GrpcHub() = default;
  absl::StatusOr<int> CheckCall(const grpc::GenericCallbackServerContext& context) const;

  GrpcGate gate_;
  std::vector<std::unique_ptr<GrpcStream>> streams_;
  std::vector<Accepted> accepted_;
  std::optional<Identity> ours_;
  bool closed_ = false;
  RunningServer running_;
};

// Blocks until every rank is connected: their streams, by rank; the own rank's is null. They are
// the hub's. Errors name the ranks without a connection and what was seen of them.
absl::StatusOr<std::vector<GrpcStream*>> ConnectGrpcMesh(GrpcHub& hub,
                                                         const GrpcEndpointOptions& options,
                                                         const Clock& clock);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_GRPC_MESH_H_
