// One end of the gRPC stream between two ranks: writes what its link has to say, one message at a
// time, and reads on and on, on gRPC's threads. The bounds are the link's (net/grpc_link.h).
//
// All that belongs together shares a gate: every method is called, and every reaction runs, with
// its mutex held, and `changed` is notified when something has come. gRPC is called with it held
// too: it runs no reaction inside a call (ps/stream_to_server.h has the same need).
#ifndef CROSSOVER_NET_GRPC_STREAM_H_
#define CROSSOVER_NET_GRPC_STREAM_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "net/grpc_link.h"
#include "net/identity.h"

namespace crossover::net {

inline constexpr char kGrpcPeerMethod[] = "/crossover.Ranks/Exchange";

struct GrpcGate {
  std::mutex mutex;
  std::condition_variable changed;
};

// May be destroyed once it is done, and not before.
class GrpcStream {
 public:
  virtual ~GrpcStream() = default;
  GrpcStream(const GrpcStream&) = delete;
  GrpcStream& operator=(const GrpcStream&) = delete;

  GrpcLink& link() { return link_; }
  // Writes what was queued in the link.
  virtual void Pump() = 0;
  // Ends the stream; who called is told the status. It is done a little later.
  virtual void Close(const absl::Status& why) = 0;
  // Ends it without a word, as the death of the process would.
  virtual void Cut() = 0;
  // Nothing more will come or go.
  bool done() const { return done_; }
  // Then: what the peer broke, or else the status that the called side gave or gRPC found.
  const absl::Status& end() const { return end_; }

 protected:
  GrpcStream() = default;
  GrpcLink link_;
  bool done_ = false;
  absl::Status end_;
};

// Our end of a call to a higher rank. Starts it.
std::unique_ptr<GrpcStream> CallGrpcPeer(GrpcGate& gate, std::shared_ptr<grpc::Channel> channel,
                                         const Identity& identity);

// Our end of a lower rank's call. Starts reading; gRPC wants the reactor as the call's.
struct AcceptedGrpcPeer {
  std::unique_ptr<GrpcStream> stream;
  grpc::ServerGenericBidiReactor* reactor;  // a part of the stream
};
AcceptedGrpcPeer AcceptGrpcPeer(GrpcGate& gate, grpc::GenericCallbackServerContext& context);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_GRPC_STREAM_H_
