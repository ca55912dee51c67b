#include "allreduce/collective.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/reduce.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

static_assert(std::endian::native == std::endian::little,
              "fp32 values travel as little-endian bytes, as they lie in memory");

enum class Kind : uint32_t { kAllReduce = 1, kBroadcast = 2 };
constexpr uint32_t kRingCode = 1;
constexpr uint32_t kDirectCode = 2;
constexpr uint32_t kChainCode = 3;

uint32_t OperationCode(Kind kind, uint32_t algorithm, size_t step) {
  return static_cast<uint32_t>(kind) << 28 | algorithm << 24 | static_cast<uint32_t>(step);
}

std::span<float> Part(std::span<float> values, const Segment& segment) {
  return values.subspan(static_cast<size_t>(segment.offset), static_cast<size_t>(segment.length));
}

}  // namespace

Collective::Collective(net::Endpoint& endpoint, Algorithm algorithm, int64_t chunk_bytes)
    : endpoint_(endpoint),
      algorithm_(algorithm),
      chunk_values_(chunk_bytes / static_cast<int64_t>(sizeof(float))),
      scratch_(endpoint.world_size()) {
  CROSSOVER_CHECK(chunk_bytes > 0 && chunk_bytes % sizeof(float) == 0,
                  "a chunk holds whole values");
}

absl::Status Collective::AllReduceSum(std::span<float> values) {
  const bool ring = algorithm_ == Algorithm::kRing;
  const int64_t length = static_cast<int64_t>(values.size());
  const Schedule schedule = ring ? RingSchedule(rank(), world_size(), length)
                                 : DirectSchedule(rank(), world_size(), length);
  net::MessageTag tag{.sequence = sequence_++, .total_bytes = values.size_bytes()};
  for (size_t step = 0; step < schedule.size(); ++step) {
    tag.operation = OperationCode(Kind::kAllReduce, ring ? kRingCode : kDirectCode, step);
    if (const absl::Status status = RunStep(schedule[step], tag, values); !status.ok()) {
      return Annotate(status, absl::StrCat("AllReduce (", ring ? "ring" : "direct", ") of ",
                                           values.size_bytes(), " bytes, sequence ", tag.sequence,
                                           ", step ", step + 1, " of ", schedule.size(), ": "));
    }
  }
  return absl::OkStatus();
}

// Both ends of a transfer know its segment, and so the number of its chunks; a rank
// whose segment is a chunk shorter than another's sits the last exchange out.
absl::Status Collective::RunStep(const Step& step, const net::MessageTag& tag,
                                 std::span<float> values) {
  int64_t chunks = 0;
  for (const Transfer& send : step.sends) chunks = std::max(chunks, ChunkCount(send.segment));
  for (const Transfer& receive : step.receives) {
    chunks = std::max(chunks, ChunkCount(receive.segment));
  }
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    RETURN_IF_ERROR(ExchangeChunk(step, chunk, tag, values));
  }
  return absl::OkStatus();
}

absl::Status Collective::ExchangeChunk(const Step& step, int64_t chunk, const net::MessageTag& tag,
                                       std::span<float> values) {
  sends_.clear();
  receives_.clear();
  for (const auto& [peer, segment] : step.sends) {
    if (chunk >= ChunkCount(segment)) continue;
    sends_.push_back({peer, std::as_bytes(Part(values, Chunk(segment, chunk)))});
  }
  std::span<float> ours;      // that the received values are for
  std::span<float> received;  // the last of them
  for (const auto& [peer, segment] : step.receives) {
    if (chunk >= ChunkCount(segment)) continue;
    const Segment part = Chunk(segment, chunk);
    ours = Part(values, part);
    received = step.action == Action::kReplace ? ours : Scratch(peer, part.length);
    receives_.push_back({peer, std::as_writable_bytes(received)});
  }
  RETURN_IF_ERROR(Exchange(tag));
  if (receives_.empty()) return absl::OkStatus();
  if (step.action == Action::kAddReceived) AddInto(ours, received);
  if (step.action == Action::kKeepForOwner) SumInRankOrder(ours);
  return absl::OkStatus();
}

// The others' contributions are in scratch_, ours is in place.
void Collective::SumInRankOrder(std::span<float> ours) {
  const int64_t length = static_cast<int64_t>(ours.size());
  const std::span<float> sum = rank() == 0 ? ours : Scratch(0, length);
  for (int peer = 1; peer < world_size(); ++peer) {
    AddInto(sum, peer == rank() ? ours : Scratch(peer, length));
  }
  if (rank() != 0) std::ranges::copy(sum, ours.begin());
}

std::span<float> Collective::Scratch(int index, int64_t length) {
  std::vector<float>& scratch = scratch_[index];
  const size_t size = static_cast<size_t>(length);
  if (scratch.size() < size) scratch.resize(size);
  return std::span(scratch).first(size);
}

absl::Status Collective::Broadcast(std::span<float> values) {
  net::MessageTag tag{.sequence = sequence_++, .total_bytes = values.size_bytes()};
  if (world_size() == 1) return absl::OkStatus();
  tag.operation = OperationCode(Kind::kBroadcast, kChainCode, 0);
  absl::Status status = SendDownChain(tag, values);
  if (status.ok()) {
    tag.operation = OperationCode(Kind::kBroadcast, kChainCode, 1);
    status = AnswerUpChain(tag);
  }
  return Annotate(status, absl::StrCat("Broadcast of ", values.size_bytes(), " bytes, sequence ",
                                       tag.sequence, ": "));
}

// Chunk k comes from the rank before while chunk k-1 goes to the rank after.
absl::Status Collective::SendDownChain(const net::MessageTag& tag, std::span<float> values) {
  const Segment whole{0, static_cast<int64_t>(values.size())};
  const int64_t chunks = ChunkCount(whole);
  const bool first = rank() == 0;
  const bool last = rank() == world_size() - 1;
  for (int64_t round = 0; round <= chunks; ++round) {
    sends_.clear();
    receives_.clear();
    const int64_t send_chunk = first ? round : round - 1;
    if (!last && send_chunk >= 0 && send_chunk < chunks) {
      sends_.push_back({rank() + 1, std::as_bytes(Part(values, Chunk(whole, send_chunk)))});
    }
    if (!first && round < chunks) {
      receives_.push_back({rank() - 1, std::as_writable_bytes(Part(values, Chunk(whole, round)))});
    }
    RETURN_IF_ERROR(Exchange(tag));
  }
  return absl::OkStatus();
}

absl::Status Collective::AnswerUpChain(const net::MessageTag& tag) {
  sends_.clear();
  receives_.clear();
  if (rank() < world_size() - 1) {
    receives_.push_back({rank() + 1, {}});
    RETURN_IF_ERROR(Exchange(tag));
    receives_.clear();
  }
  if (rank() == 0) return absl::OkStatus();
  sends_.push_back({rank() - 1, {}});
  return Exchange(tag);
}

absl::Status Collective::Exchange(const net::MessageTag& tag) {
  RETURN_IF_ERROR(endpoint_.Exchange(tag, sends_, receives_));
  for (const net::SendOp& op : sends_) counters_.sent_bytes += op.data.size();
  for (const net::ReceiveOp& op : receives_) counters_.received_bytes += op.into.size();
  return absl::OkStatus();
}

Segment Collective::Chunk(const Segment& segment, int64_t chunk) const {
  const int64_t begin = chunk * chunk_values_;
  return {segment.offset + begin, std::min(chunk_values_, segment.length - begin)};
}

// An empty segment is one empty message, so that its header is checked.
int64_t Collective::ChunkCount(const Segment& segment) const {
  return std::max<int64_t>(1, (segment.length + chunk_values_ - 1) / chunk_values_);
}

}  // namespace crossover::allreduce
