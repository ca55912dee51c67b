// A gRPC server of streams from workers (ps/stream_to_worker.h): one completion queue, one thread.
#ifndef CROSSOVER_PS_STREAM_SERVICE_H_
#define CROSSOVER_PS_STREAM_SERVICE_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "net/grpc_setup.h"
#include "ps/completion_loop.h"
#include "ps/stream_to_worker.h"

namespace crossover::ps {

// Thread-safe.
class StreamService final : public Completing {
 public:
  // Binds and serves, where wanted on a Unix socket too. Errors: the address (net/grpc_setup.h).
  // `tls_pem`: as in net::Identity.
  // `handler` must live until Stop has returned; a stream reads at most `unhandled_max` messages
  // ahead.
  static absl::StatusOr<std::unique_ptr<StreamService>> Start(const std::string& address,
                                                              const std::string& tls_pem,
                                                              bool on_unix_socket,
                                                              int unhandled_max,
                                                              StreamHandler& handler);
  // Stops.
  ~StreamService() override;

  // With the port that was bound.
  const std::string& address() const { return running_.address; }
  // Its name (net/unix_socket.h), or "".
  const std::string& unix_socket() const { return unix_socket_; }
  // Breaks all streams; returns when they have ended. Not from the loop's thread.
  void Stop();

  void OnCompletion(int operation, bool ok) override;

 private:
  StreamService(int unhandled_max, StreamHandler& handler)
      : unhandled_max_(unhandled_max), handler_(handler) {}
  void RequestCall();

  const int unhandled_max_;
  StreamHandler& handler_;
  grpc::AsyncGenericService service_;
  net::RunningServer running_;
  std::string unix_socket_;
  grpc::ServerCompletionQueue* queue_ = nullptr;  // the loop's
  std::unique_ptr<CompletionLoop> loop_;
  Completion requested_{*this, 0};
  std::shared_ptr<StreamToWorker> next_;  // the loop's thread's alone: waits for its call

  std::mutex mutex_;
  std::condition_variable ended_;
  int streams_ = 0;  // not done, and the one that waits for its call
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STREAM_SERVICE_H_
