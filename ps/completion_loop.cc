#include "ps/completion_loop.h"

#include <utility>

#include "net/thread_handover.h"

namespace crossover::ps {

void* Completion::tag() {
  net::HandOver(this);
  return this;
}

CompletionLoop::CompletionLoop(std::unique_ptr<grpc::CompletionQueue> queue)
    : queue_(std::move(queue)), thread_([this] { Run(); }) {}

CompletionLoop::~CompletionLoop() { Stop(); }

void CompletionLoop::Stop() {
  if (!thread_.joinable()) return;
  queue_->Shutdown();
  thread_.join();
}

void CompletionLoop::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    net::TakeOver(tag);
    const auto& completion = *static_cast<const Completion*>(tag);
    completion.owner_.OnCompletion(completion.operation_, ok);
  }
}

}  // namespace crossover::ps
