// What the gRPC stream between two ranks carries, as a state machine without threads: messages
// to be written come out of it, messages that were read go into it. The first byte of a message
// is its kind (MessageKind in the .cc):
//   greeting   | Greeting (net/tcp_handshake.h): the first message, each way
//   data       | bytes of the peer's byte stream
//   credit     | u32, little-endian: so many bytes have been taken, as many more may come
//   control    | ControlMessage (net/control_message.h)
//   receipt    | nothing: the other side's goodbye or last words, and all before, have been read
//
// Both directions are bounded: at most kGrpcWindowBytes of data are between the two callers, and of
// everything else the latest alone waits to be written. Not thread-safe.
#ifndef CROSSOVER_NET_GRPC_LINK_H_
#define CROSSOVER_NET_GRPC_LINK_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "net/control_message.h"
#include "net/tcp_handshake.h"

namespace crossover::net {

inline constexpr size_t kGrpcWindowBytes = 1 << 20;
// Data are written as messages of at most so many bytes: fewer messages wake fewer threads.
inline constexpr size_t kGrpcMessageBytesMax = 512 << 10;

class GrpcLink {
 public:
  // To the peer. What is queued after QueueEnd never leaves, but for receipts.
  void QueueGreeting(const Greeting& greeting) { greeting_to_send_ = EncodeGreeting(greeting); }
  // How much QueueData takes; it must not be given more (CHECK).
  size_t room_bytes() const { return room_bytes_; }
  void QueueData(const grpc::Slice& data);
  void QueueCredit(size_t taken_bytes);
  void QueueNote(std::string_view note);
  // Goodbye goes after the data, last words in their place. The first one stays.
  void QueueEnd(ControlKind kind, std::string_view text);
  // The next message to be written; false: none at the moment.
  bool NextMessage(grpc::ByteBuffer& message);

  // From the peer. Errors: what came is no message of this protocol, or more than was allowed.
  absl::Status Accept(const grpc::ByteBuffer& message);
  const std::optional<Greeting>& greeting() const { return greeting_; }
  bool has_data() const { return !data_.empty(); }
  // All that came since the last call.
  std::deque<grpc::Slice> TakeData();
  // The latest that came since the last call.
  std::optional<std::string> TakeNote();
  const std::optional<std::string>& last_words() const { return last_words_; }
  bool has_left() const { return has_left_; }  // it has said goodbye
  // The peer has read our goodbye or last words.
  bool end_has_arrived() const { return receipt_came_; }

 private:
  // Each of what follows the kind; of data, of the whole message without empty slices.
  absl::Status AcceptGreeting(std::span<const std::byte> bytes);
  absl::Status AcceptCredit(std::span<const std::byte> bytes);
  absl::Status AcceptControl(std::span<const std::byte> bytes);
  absl::Status AcceptData(std::span<const grpc::Slice> slices);

  std::optional<GreetingBytes> greeting_to_send_;
  std::optional<std::string> note_to_send_;  // encoded
  std::optional<std::string> end_to_send_;   // encoded
  bool end_queued_ = false;
  bool receipt_to_send_ = false;
  size_t credit_to_send_ = 0;
  std::deque<grpc::Slice> data_to_send_;
  size_t room_bytes_ = kGrpcWindowBytes;

  std::optional<Greeting> greeting_;
  std::deque<grpc::Slice> data_;
  size_t untaken_bytes_ = 0;  // came, and no credit was given for them
  std::optional<std::string> note_;
  std::optional<std::string> last_words_;
  bool has_left_ = false;
  bool receipt_came_ = false;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_GRPC_LINK_H_
