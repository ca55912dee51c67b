#include "allreduce/flight.h"

#include <algorithm>
#include <utility>

#include "core/data_type.h"

namespace crossover::allreduce {
namespace {

bool Overlap(const FlightTransfer& a, const FlightTransfer& b) {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

// How far into `transfer` one comes before the first byte of `other` beyond its `done` bytes.
int64_t UpTo(const FlightTransfer& transfer, const FlightTransfer& other, int64_t done) {
  return std::max<int64_t>(0, other.offset + done - transfer.offset);
}

bool Over(const FlightStep& step) {
  const auto complete = [](const FlightTransfer& transfer) { return transfer.complete; };
  return std::ranges::all_of(step.sends, complete) && std::ranges::all_of(step.receives, complete);
}

}  // namespace

Flight::Flight(Operation operation)
    : operation_(std::move(operation)),
      frame_(EncodeFrame(operation_.frame)),
      value_bytes_(static_cast<int64_t>(BytesOf(operation_.frame.type))) {
  TakeSteps();
}

void Flight::Restart(Operation operation) {
  const auto value_bytes = static_cast<int64_t>(BytesOf(operation.frame.type));
  const bool alike = operation.schedule == operation_.schedule && value_bytes == value_bytes_;
  operation_ = std::move(operation);
  frame_ = EncodeFrame(operation_.frame);
  value_bytes_ = value_bytes;
  if (!alike) {
    TakeSteps();
    return;
  }
  const auto restart = [&](std::vector<FlightTransfer>& transfers) {
    for (FlightTransfer& transfer : transfers) {
      transfer.moved = 0;
      transfer.final = 0;
      transfer.complete = false;
    }
    open_transfers_ += static_cast<int64_t>(transfers.size());
  };
  first_open_ = 0;
  open_transfers_ = 0;
  for (FlightStep& step : steps_) {
    restart(step.sends);
    restart(step.receives);
  }
}

void Flight::TakeSteps() {
  steps_.clear();
  first_open_ = 0;
  open_transfers_ = 0;
  const auto transfers = [&](const std::vector<Transfer>& from) {
    std::vector<FlightTransfer> to;
    for (const auto& [peer, segment] : from) {
      to.push_back({.peer = peer,
                    .offset = segment.offset * value_bytes_,
                    .length = segment.length * value_bytes_});
    }
    open_transfers_ += static_cast<int64_t>(to.size());
    return to;
  };
  for (const Step& step : *operation_.schedule) {
    steps_.push_back({.sends = transfers(step.sends),
                      .receives = transfers(step.receives),
                      .action = step.action,
                      .completes = step.completes,
                      .ordered = step.ordered});
  }
}

FrameBytes Flight::FrameOf(int sender, size_t step, int64_t bytes) const {
  FrameBytes frame = frame_;
  SetMessage(sender, step, bytes, frame);
  return frame;
}

int64_t Flight::Sendable(size_t step, const FlightTransfer& send) const {
  int64_t limit = send.length;
  for (size_t earlier = first_open_; earlier < step; ++earlier) {
    for (const FlightTransfer& receive : steps_[earlier].receives) {
      if (receive.complete) continue;
      if (steps_[step].ordered) return -1;
      if (Overlap(receive, send)) limit = std::min(limit, UpTo(send, receive, receive.final));
    }
  }
  // A frame leaves together with the first bytes behind it.
  return limit == 0 && send.length > 0 ? -1 : limit;
}

int64_t Flight::Placeable(size_t step, const FlightTransfer& receive) const {
  int64_t limit = receive.length;
  for (size_t earlier = first_open_; earlier <= step; ++earlier) {
    for (const FlightTransfer& send : steps_[earlier].sends) {
      if (send.complete || !Overlap(send, receive)) continue;
      limit = std::min(limit, UpTo(receive, send, send.moved));
    }
    if (earlier == step) break;
    for (const FlightTransfer& before : steps_[earlier].receives) {
      if (before.complete || !Overlap(before, receive)) continue;
      limit = std::min(limit, UpTo(receive, before, before.final));
    }
  }
  return limit;
}

void Flight::Complete(FlightTransfer& transfer) {
  transfer.complete = true;
  --open_transfers_;
  while (first_open_ < steps_.size() && Over(steps_[first_open_])) ++first_open_;
}

}  // namespace crossover::allreduce
