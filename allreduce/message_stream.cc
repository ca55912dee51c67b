#include "allreduce/message_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/combine.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

// A pipe's worth where bytes are sent by reference: fewer, longer calls.
constexpr int64_t kBorrowedBytesMax = 1 << 20;

// The frame that `sender` puts before this transfer.
FrameBytes FrameOf(const QueuedTransfer& queued, int sender) {
  return queued.flight->FrameOf(sender, queued.step, queued.transfer->length);
}

std::byte* BufferAt(const QueuedTransfer& queued, int64_t offset) {
  return queued.flight->operation().buffer + queued.transfer->offset + offset;
}

const FlightStep& StepOf(const QueuedTransfer& queued) {
  return queued.flight->steps()[queued.step];
}

int64_t StagedValues(const QueuedTransfer& queued) {
  return std::min(queued.transfer->length, kStagedBytesMax);
}

std::span<std::byte> Bytes(std::byte* begin, int64_t length) {
  return {begin, static_cast<size_t>(length)};
}

}  // namespace

Outgoing::Outgoing(int rank, int peer, int64_t chunk_bytes)
    : rank_(rank), peer_(peer), chunk_bytes_(chunk_bytes) {}

bool Outgoing::wants_to_send() const {
  if (staged_begin_ < staged_.size()) return true;
  if (queue_.empty()) return false;
  const QueuedTransfer& front = queue_.front();
  const int64_t sendable = front.flight->Sendable(front.step, *front.transfer);
  return begun_ ? sendable > front.transfer->moved : sendable >= 0;
}

absl::StatusOr<bool> Outgoing::Advance(net::Endpoint& endpoint, StreamCounters& counters) {
  if (queue_.empty()) return false;
  FlightTransfer& transfer = *queue_.front().transfer;
  if (!begun_) {
    const int64_t sendable = queue_.front().flight->Sendable(queue_.front().step, transfer);
    if (sendable < 0) return false;
    Stage(queue_.front(), sendable);
  }
  bool moved = false;
  if (staged_begin_ < staged_.size()) {
    ASSIGN_OR_RETURN(
        const size_t taken,
        endpoint.TrySend(peer_, std::span(staged_).subspan(staged_begin_), net::SendMode::kCopy));
    staged_begin_ += taken;
    moved = taken > 0;
    if (staged_begin_ < staged_.size()) return moved;
  }
  if (transfer.moved < transfer.length) {
    ASSIGN_OR_RETURN(const bool values_moved, SendValues(endpoint));
    moved |= values_moved;
  }
  if (transfer.moved == transfer.length) {
    counters.sent_bytes += transfer.length;
    queue_.front().flight->Complete(transfer);
    queue_.pop_front();
    begun_ = false;
  }
  return moved;
}

void Outgoing::Stage(const QueuedTransfer& next, int64_t sendable) {
  const FrameBytes frame = FrameOf(next, rank_);
  const int64_t values = std::min(sendable, kStagedBytesMax);
  staged_.resize(kFrameBytes + static_cast<size_t>(values));
  std::memcpy(staged_.data(), frame.data(), kFrameBytes);
  if (values > 0) std::memcpy(staged_.data() + kFrameBytes, BufferAt(next, 0), values);
  staged_begin_ = 0;
  next.transfer->moved = values;  // copied: their place may be overwritten
  begun_ = true;
}

absl::StatusOr<bool> Outgoing::SendValues(net::Endpoint& endpoint) {
  const QueuedTransfer& front = queue_.front();
  FlightTransfer& transfer = *front.transfer;
  const bool borrow = front.flight->operation().borrow;
  const int64_t sendable = front.flight->Sendable(front.step, transfer);
  const int64_t offered =
      std::min(sendable - transfer.moved, borrow ? kBorrowedBytesMax : chunk_bytes_);
  if (offered <= 0) return false;
  ASSIGN_OR_RETURN(const size_t taken,
                   endpoint.TrySend(peer_, Bytes(BufferAt(front, transfer.moved), offered),
                                    borrow ? net::SendMode::kBorrow : net::SendMode::kCopy));
  transfer.moved += static_cast<int64_t>(taken);
  return taken > 0;
}

Incoming::Incoming(int rank, int peer, int64_t chunk_bytes)
    : rank_(rank), peer_(peer), chunk_bytes_(std::max(chunk_bytes, kStagedBytesMax)) {}

bool Incoming::wants_to_receive() const {
  if (queue_.empty()) return false;
  if (!placed_) return staged_bytes_ < StagedBytesWanted();
  return ReceivableNow() > 0;
}

absl::StatusOr<bool> Incoming::Advance(net::Endpoint& endpoint, std::vector<Incoming>& all,
                                       StreamCounters& counters) {
  if (queue_.empty()) return false;
  bool moved = false;
  if (!placed_) {
    if (staged_bytes_ < StagedBytesWanted()) {
      ASSIGN_OR_RETURN(moved, ReceiveStaged(endpoint));
      if (staged_bytes_ < StagedBytesWanted()) return moved;
    }
    if (!PlaceStaged()) return moved;
  } else {
    ASSIGN_OR_RETURN(moved, ReceiveValues(endpoint));
  }
  const QueuedTransfer& front = queue_.front();
  if (StepOf(front).action == Action::kReduceRankOrder && front.transfer->length > 0) {
    CombineInRankOrder(all, counters);
  } else if (front.transfer->final == front.transfer->length) {
    CompleteFront(counters);
  }
  return moved;
}

int64_t Incoming::StagedBytesWanted() const {
  return static_cast<int64_t>(kFrameBytes) + StagedValues(queue_.front());
}

absl::StatusOr<bool> Incoming::ReceiveStaged(net::Endpoint& endpoint) {
  staged_.resize(kFrameBytes + kStagedBytesMax);
  ASSIGN_OR_RETURN(const size_t came,
                   endpoint.TryReceive(peer_, Bytes(staged_.data() + staged_bytes_,
                                                    StagedBytesWanted() - staged_bytes_)));
  staged_bytes_ += static_cast<int64_t>(came);
  if (!checked_ && staged_bytes_ >= static_cast<int64_t>(kFrameBytes)) {
    RETURN_IF_ERROR(CheckFrame());
  }
  return came > 0;
}

absl::Status Incoming::CheckFrame() {
  const std::span<const std::byte, kFrameBytes> got(staged_.data(), kFrameBytes);
  const QueuedTransfer& front = queue_.front();
  const FrameBytes expected = FrameOf(front, peer_);
  if (std::memcmp(got.data(), expected.data(), kFrameBytes) != 0) {
    Frame frame = front.flight->operation().frame;
    frame.sender = static_cast<uint32_t>(peer_);
    frame.step = static_cast<uint32_t>(front.step);
    frame.bytes = static_cast<uint64_t>(front.transfer->length);
    return MismatchError(rank_, peer_, got, frame);
  }
  checked_ = true;
  last_frame_ = expected;
  return absl::OkStatus();
}

std::optional<Frame> Incoming::last_frame() const {
  if (!last_frame_) return std::nullopt;
  absl::StatusOr<Frame> frame = DecodeFrame(*last_frame_);
  return frame.ok() ? std::optional(*std::move(frame)) : std::nullopt;
}

// False while something else has still to happen to their place.
bool Incoming::PlaceStaged() {
  const QueuedTransfer& front = queue_.front();
  const int64_t values = StagedValues(front);
  if (front.flight->Placeable(front.step, *front.transfer) < values) return false;
  const std::byte* begin = staged_.data() + kFrameBytes;
  front.transfer->moved = values;
  switch (StepOf(front).action) {
    case Action::kReplace:
      if (values > 0) std::memcpy(BufferAt(front, 0), begin, static_cast<size_t>(values));
      front.transfer->final = values;
      break;
    case Action::kReduce:
      Reduce(begin, values);
      break;
    case Action::kReduceRankOrder:
      if (values > 0) std::memcpy(Scratch(), begin, static_cast<size_t>(values));
      scratch_bytes_ = values;
      break;
  }
  placed_ = true;
  return true;
}

std::byte* Incoming::Scratch() {
  if (scratch_.empty()) scratch_.resize(static_cast<size_t>(chunk_bytes_));
  return scratch_.data();
}

// How many bytes could be taken in one call, were they there.
int64_t Incoming::ReceivableNow() const {
  const QueuedTransfer& front = queue_.front();
  const FlightTransfer& transfer = *front.transfer;
  const int64_t placeable = front.flight->Placeable(front.step, transfer);
  switch (StepOf(front).action) {
    case Action::kReplace:
      return std::min(placeable - transfer.moved, kBorrowedBytesMax);
    case Action::kReduce:
      return std::min(placeable - transfer.moved, chunk_bytes_ - scratch_bytes_);
    case Action::kReduceRankOrder:
      return std::min(transfer.length - transfer.moved, chunk_bytes_ - scratch_bytes_);
  }
  return 0;
}

absl::StatusOr<bool> Incoming::ReceiveValues(net::Endpoint& endpoint) {
  const QueuedTransfer& front = queue_.front();
  FlightTransfer& transfer = *front.transfer;
  const int64_t wanted = ReceivableNow();
  if (wanted <= 0) return false;
  const bool replace = StepOf(front).action == Action::kReplace;
  std::byte* into = replace ? BufferAt(front, transfer.moved) : Scratch() + scratch_bytes_;
  ASSIGN_OR_RETURN(const size_t came, endpoint.TryReceive(peer_, Bytes(into, wanted)));
  if (came == 0) return false;
  transfer.moved += static_cast<int64_t>(came);
  if (replace) {
    transfer.final = transfer.moved;
    return true;
  }
  scratch_bytes_ += static_cast<int64_t>(came);
  if (StepOf(front).action == Action::kReduceRankOrder) return true;
  const int64_t whole = scratch_bytes_ - scratch_bytes_ % front.flight->value_bytes();
  Reduce(scratch_.data(), whole);
  scratch_bytes_ -= whole;
  if (scratch_bytes_ > 0) std::memmove(scratch_.data(), scratch_.data() + whole, scratch_bytes_);
  return true;
}

// Whole values, the next ones of the front.
void Incoming::Reduce(const std::byte* values, int64_t bytes) {
  const QueuedTransfer& front = queue_.front();
  const Operation& operation = front.flight->operation();
  const int64_t count = bytes / front.flight->value_bytes();
  std::byte* ours = BufferAt(front, front.transfer->final);
  Combine(operation.frame.type, operation.frame.op, ours, values, count);
  if (StepOf(front).completes && operation.frame.op == ReduceOp::kAverage) {
    FinishAverage(operation.frame.type, ours, count, operation.contributions);
  }
  front.transfer->final += bytes;
}

// Once a chunk of every peer of the step is there.
void Incoming::CombineInRankOrder(std::vector<Incoming>& all, StreamCounters& counters) {
  const QueuedTransfer front = queue_.front();
  const FlightStep& step = StepOf(front);
  const int64_t begin = front.transfer->final;
  const int64_t bytes = std::min(chunk_bytes_, front.transfer->length - begin);
  if (front.flight->Placeable(front.step, *front.transfer) < begin + bytes) return;
  parts_.assign(all.size(), nullptr);
  for (const FlightTransfer& receive : step.receives) {
    const Incoming& other = all[static_cast<size_t>(receive.peer)];
    if (other.queue_.empty() || other.queue_.front().transfer != &receive ||
        other.scratch_bytes_ < bytes) {
      return;
    }
    parts_[static_cast<size_t>(receive.peer)] = other.scratch_.data();
  }
  std::byte* ours = BufferAt(front, begin);
  parts_[static_cast<size_t>(rank_)] = ours;
  std::erase(parts_, nullptr);
  const Operation& operation = front.flight->operation();
  const int64_t count = bytes / front.flight->value_bytes();
  const bool average = operation.frame.op == ReduceOp::kAverage;
  const bool whole = step.completes && static_cast<int>(parts_.size()) == operation.contributions;
  CombineInOrder(operation.frame.type, average && !whole ? ReduceOp::kSum : operation.frame.op,
                 ours, parts_, count);
  if (average && step.completes && !whole) {
    FinishAverage(operation.frame.type, ours, count, operation.contributions);
  }
  for (const FlightTransfer& receive : step.receives) {
    Incoming& other = all[static_cast<size_t>(receive.peer)];
    other.scratch_bytes_ = 0;
    other.queue_.front().transfer->final += bytes;
    if (receive.final == receive.length) other.CompleteFront(counters);
  }
}

void Incoming::CompleteFront(StreamCounters& counters) {
  counters.received_bytes += queue_.front().transfer->length;
  queue_.front().flight->Complete(*queue_.front().transfer);
  queue_.pop_front();
  staged_bytes_ = 0;
  scratch_bytes_ = 0;
  checked_ = false;
  placed_ = false;
}

}  // namespace crossover::allreduce
