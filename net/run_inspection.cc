#include "net/run_inspection.h"

#include <utility>

#include "net/inspection_call.h"
#include "net/thread_handover.h"

namespace crossover::net {

RunInspection::RunInspection(const Identity& ours, std::function<proto::MembersStatus()> collect)
    : ours_(ours), collect_(std::move(collect)) {
  HandOver(this);
}

grpc::ServerUnaryReactor* RunInspection::Members(grpc::CallbackServerContext* context,
                                                 const proto::StatusRequest* /*request*/,
                                                 proto::MembersStatus* answer) {
  TakeOver(this);
  return AnswerObserver(ours_, *context, *answer, collect_);
}

}  // namespace crossover::net
