#include "ps/stream_service.h"

#include <utility>

#include "core/status.h"
#include "net/unix_socket.h"

namespace crossover::ps {

absl::StatusOr<std::unique_ptr<StreamService>> StreamService::Start(const std::string& address,
                                                                    const std::string& tls_pem,
                                                                    bool on_unix_socket,
                                                                    int unhandled_max,
                                                                    StreamHandler& handler) {
  std::unique_ptr<StreamService> service(new StreamService(unhandled_max, handler));
  if (on_unix_socket) service->unix_socket_ = net::NewUnixSocketName();
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  const net::Listening listening = {address, tls_pem, service->unix_socket_};
  ASSIGN_OR_RETURN(service->running_,
                   net::StartServer(listening, [&](grpc::ServerBuilder& builder) {
                     builder.RegisterAsyncGenericService(&service->service_);
                     queue = builder.AddCompletionQueue();
                   }));
  service->queue_ = queue.get();
  service->RequestCall();
  service->loop_ = std::make_unique<CompletionLoop>(std::move(queue));
  return service;
}

StreamService::~StreamService() { Stop(); }

void StreamService::Stop() {
  if (loop_ == nullptr) return;
  running_.server->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return streams_ == 0; });
  }
  loop_->Stop();
}

void StreamService::RequestCall() {
  {
    const std::lock_guard lock(mutex_);
    ++streams_;
  }
  next_ = std::make_shared<StreamToWorker>(handler_, unhandled_max_, [this] {
    // Notified under the mutex, so that whoever waits cannot destroy it before.
    const std::lock_guard lock(mutex_);
    if (--streams_ == 0) ended_.notify_all();
  });
  service_.RequestCall(&next_->context(), &next_->call(), queue_, queue_, requested_.tag());
}

void StreamService::OnCompletion(int, bool ok) {
  const std::shared_ptr<StreamToWorker> stream = std::move(next_);
  if (!ok) {  // the server stops
    const std::lock_guard lock(mutex_);
    if (--streams_ == 0) ended_.notify_all();
    return;
  }
  RequestCall();
  stream->Start();
}

}  // namespace crossover::ps
