#include "net/grpc_link.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"
#include "net/little_endian.h"

namespace crossover::net {
namespace {

enum class MessageKind : uint8_t { kGreeting = 1, kData, kCredit, kControl, kReceipt };

// Shorter data are copied, or each would keep a whole buffer of gRPC's.
constexpr size_t kCopiedBytesMax = 4096;
constexpr size_t kSmallBytesMax = std::max(kGreetingBytes, kControlMessageBytesMax);

// Of a few bytes: gRPC keeps them within the slice.
grpc::Slice KindSlice(MessageKind kind) { return grpc::Slice(&kind, sizeof(kind)); }

grpc::ByteBuffer Message(MessageKind kind, std::string_view rest) {
  const std::array<grpc::Slice, 2> slices = {KindSlice(kind),
                                             grpc::Slice(rest.data(), rest.size())};
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Without the empty ones.
std::vector<grpc::Slice> SlicesOf(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  // Fails only for a buffer that holds nothing at all, which has no bytes.
  if (!message.Dump(&slices).ok()) slices.clear();
  std::erase_if(slices, [](const grpc::Slice& slice) { return slice.size() == 0; });
  return slices;
}

// All bytes but the first.
std::string Flatten(std::span<const grpc::Slice> slices) {
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes.substr(1);
}

}  // namespace

void GrpcLink::QueueData(const grpc::Slice& data) {
  CROSSOVER_CHECK(data.size() <= room_bytes_, "no more is sent than fits the window");
  if (end_queued_) return;
  room_bytes_ -= data.size();
  data_to_send_.push_back(data);
}

void GrpcLink::QueueCredit(size_t taken_bytes) {
  CROSSOVER_CHECK(taken_bytes <= untaken_bytes_, "only what came is taken");
  untaken_bytes_ -= taken_bytes;
  credit_to_send_ += taken_bytes;
}

void GrpcLink::QueueNote(std::string_view note) {
  if (!end_queued_) note_to_send_ = EncodeControlMessage(ControlKind::kNote, note);
}

void GrpcLink::QueueEnd(ControlKind kind, std::string_view text) {
  if (std::exchange(end_queued_, true)) return;
  end_to_send_ = EncodeControlMessage(kind, text);
  note_to_send_.reset();
  if (kind == ControlKind::kLastWords) data_to_send_.clear();
}

bool GrpcLink::NextMessage(grpc::ByteBuffer& message) {
  grpc::ByteBuffer next;
  if (greeting_to_send_.has_value()) {
    next = Message(MessageKind::kGreeting, AsText(*std::exchange(greeting_to_send_, {})));
  } else if (std::exchange(receipt_to_send_, false)) {
    next = Message(MessageKind::kReceipt, "");
  } else if (note_to_send_.has_value()) {
    next = Message(MessageKind::kControl, *std::exchange(note_to_send_, {}));
  } else if (credit_to_send_ > 0) {
    std::array<std::byte, sizeof(uint32_t)> bytes;
    PutLittleEndian(static_cast<uint32_t>(std::exchange(credit_to_send_, 0)), bytes.data());
    next = Message(MessageKind::kCredit, AsText(bytes));
  } else if (!data_to_send_.empty()) {
    std::vector<grpc::Slice> slices = {KindSlice(MessageKind::kData)};
    for (size_t bytes = 0; !data_to_send_.empty(); data_to_send_.pop_front()) {
      bytes += data_to_send_.front().size();
      if (bytes > kGrpcMessageBytesMax && slices.size() > 1) break;
      slices.push_back(data_to_send_.front());
    }
    next = grpc::ByteBuffer(slices.data(), slices.size());
  } else if (end_to_send_.has_value()) {
    next = Message(MessageKind::kControl, *std::exchange(end_to_send_, {}));
  } else {
    return false;
  }
  message.Swap(&next);
  return true;
}

absl::Status GrpcLink::Accept(const grpc::ByteBuffer& message) {
  const std::vector<grpc::Slice> slices = SlicesOf(message);
  if (slices.empty()) return absl::DataLossError("an empty message came");
  const auto kind = static_cast<MessageKind>(*slices.front().begin());
  if (greeting_.has_value() == (kind == MessageKind::kGreeting)) {
    return absl::DataLossError(absl::StrCat(
        "a message of kind ", static_cast<int>(kind),
        greeting_.has_value() ? " came, a second greeting" : " came before the greeting"));
  }
  if (kind == MessageKind::kData) return AcceptData(slices);
  if (message.Length() > 1 + kSmallBytesMax) {
    return absl::DataLossError(absl::StrCat("a message of kind ", static_cast<int>(kind), " with ",
                                            message.Length(), " bytes came"));
  }
  const std::string text = Flatten(slices);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  switch (kind) {
    case MessageKind::kGreeting:
      return AcceptGreeting(bytes);
    case MessageKind::kCredit:
      return AcceptCredit(bytes);
    case MessageKind::kControl:
      return AcceptControl(bytes);
    case MessageKind::kReceipt:
      receipt_came_ = true;
      return absl::OkStatus();
    case MessageKind::kData:
      break;
  }
  return absl::DataLossError(
      absl::StrCat("a message of the unknown kind ", static_cast<int>(kind), " came"));
}

absl::Status GrpcLink::AcceptGreeting(std::span<const std::byte> bytes) {
  if (bytes.size() != kGreetingBytes) {
    return absl::DataLossError(absl::StrCat("a greeting of ", bytes.size(), " bytes came"));
  }
  ASSIGN_OR_RETURN(greeting_, DecodeGreeting(bytes.first<kGreetingBytes>()));
  return absl::OkStatus();
}

absl::Status GrpcLink::AcceptCredit(std::span<const std::byte> bytes) {
  const size_t credit =
      bytes.size() == sizeof(uint32_t) ? GetLittleEndian<uint32_t>(bytes.data()) : 0;
  if (credit == 0 || credit > kGrpcWindowBytes - room_bytes_) {
    return absl::DataLossError(absl::StrCat("a credit for ", credit, " bytes came, ",
                                            kGrpcWindowBytes - room_bytes_, " are under way"));
  }
  room_bytes_ += credit;
  return absl::OkStatus();
}

absl::Status GrpcLink::AcceptControl(std::span<const std::byte> bytes) {
  size_t used = 0;
  ASSIGN_OR_RETURN(std::optional<ControlMessage> message, DecodeControlMessage(bytes, used));
  if (!message.has_value() || used != bytes.size()) {
    return absl::DataLossError("a control message came that is not whole");
  }
  switch (message->kind) {
    case ControlKind::kNote:
      note_ = std::move(message->text);
      break;
    case ControlKind::kLastWords:
      last_words_ = std::move(message->text);
      receipt_to_send_ = true;
      break;
    case ControlKind::kGoodbye:
      has_left_ = true;
      receipt_to_send_ = true;
      break;
  }
  return absl::OkStatus();
}

absl::Status GrpcLink::AcceptData(std::span<const grpc::Slice> slices) {
  size_t bytes = 0;
  for (const grpc::Slice& slice : slices) bytes += slice.size();
  --bytes;  // the kind
  if (bytes > kGrpcWindowBytes - untaken_bytes_) {
    return absl::DataLossError(absl::StrCat(bytes, " bytes came, only ",
                                            kGrpcWindowBytes - untaken_bytes_, " were allowed"));
  }
  untaken_bytes_ += bytes;
  if (bytes <= kCopiedBytesMax) {
    const std::string copy = Flatten(slices);
    if (!copy.empty()) data_.emplace_back(copy.data(), copy.size());
    return absl::OkStatus();
  }
  if (slices.front().size() > 1) data_.push_back(slices.front().sub(1, slices.front().size()));
  data_.insert(data_.end(), slices.begin() + 1, slices.end());
  return absl::OkStatus();
}

std::deque<grpc::Slice> GrpcLink::TakeData() { return std::exchange(data_, {}); }

std::optional<std::string> GrpcLink::TakeNote() { return std::exchange(note_, std::nullopt); }

}  // namespace crossover::net
