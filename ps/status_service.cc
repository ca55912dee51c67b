#include "ps/status_service.h"

#include <utility>

#include "net/inspection_call.h"
#include "net/thread_handover.h"

namespace crossover::ps {

StatusService::StatusService(const net::Identity& ours,
                             std::function<proto::ServerStatus()> collect)
    : ours_(ours), collect_(std::move(collect)) {
  net::HandOver(this);
}

grpc::ServerUnaryReactor* StatusService::Status(grpc::CallbackServerContext* context,
                                                const proto::StatusRequest* /*request*/,
                                                proto::ServerStatus* answer) {
  net::TakeOver(this);
  return net::AnswerObserver(ours_, *context, *answer, collect_);
}

}  // namespace crossover::ps
