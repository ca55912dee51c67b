// Asks a parameter server for its status, and the run's rendezvous for the workers' heartbeats.
#ifndef CROSSOVER_PS_STATUS_CLIENT_H_
#define CROSSOVER_PS_STATUS_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/status.pb.h"

namespace crossover::ps {

// Keeps its connections. For one thread.
class StatusClient {
 public:
  // `address`: host:port. Does not block.
  // `tls_pem`: as in net::Identity, of the server's run.
  StatusClient(const std::string& address, const std::string& token, const std::string& tls_pem);

  // Blocks, for at most about timeout_s twice and a second. Errors say what was found at the
  // address and the fix: nobody, no parameter server, one that refuses the token, one that does not
  // answer in time (DeadlineExceeded). Where the rendezvous does not answer, heartbeats are left
  // out.
  absl::StatusOr<proto::ServerStatus> Fetch(double timeout_s);

 private:
  absl::Status Explain(const grpc::Status& end, double timeout_s);
  void AddHeartbeats(double timeout_s, proto::ServerStatus& status);

  const std::string address_;
  const std::string token_;
  const std::string tls_pem_;
  const std::shared_ptr<grpc::Channel> server_;
  std::shared_ptr<grpc::Channel> rendezvous_;  // once its address is known
  bool rendezvous_silent_ = false;             // it is not asked again
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STATUS_CLIENT_H_
