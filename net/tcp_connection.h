// One TCP connection between two ranks: messages in pieces, as far as the kernel
// takes or gives them at the moment. Never blocks, save for FindFarewell. Belongs
// to one thread.
#ifndef CROSSOVER_NET_TCP_CONNECTION_H_
#define CROSSOVER_NET_TCP_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "core/clock.h"
#include "net/endpoint.h"
#include "net/message.h"
#include "net/socket.h"

namespace crossover::net {

class TcpConnection {
 public:
  // `peer_name` is "rank 2 at 10.0.0.2:4000"; `clock` must outlive this.
  TcpConnection(UniqueFd fd, int rank, int peer, std::string peer_name, const Clock& clock);

  // Queues a message; `data` is borrowed until sending() is false. At most one at a
  // time in each direction.
  void StartSend(const MessageHeader& header, std::span<const std::byte> data);
  void StartReceive(const MessageTag& tag, std::span<std::byte> into);
  bool sending() const { return sending_; }
  bool receiving() const { return receiving_; }

  // Whether an attempt is worth while: true until the kernel says that it would
  // block, and again from SetReady on.
  bool can_send() const { return sending_ && writable_; }
  bool can_receive() const { return receiving_ && readable_; }
  short poll_events() const;
  // What poll reported.
  void SetReady(short revents);

  // One attempt each. Errors: the peer's loss, a message other than the expected one,
  // a farewell. farewell() then holds what the peer said, "" if nothing.
  absl::Status SendSome();
  absl::Status ReceiveSome();
  const std::string& farewell() const { return farewell_; }

  // Whether bytes have moved since the last call.
  bool TakeMoved();

  // For the end. TrySend is SendSome without a question for reasons: false if the
  // connection is broken. After CloseSending nothing more can be sent. DiscardSome
  // throws away what comes; false when the peer has closed as well.
  bool TrySend();
  void CloseSending();
  bool DiscardSome();

  const std::string& peer_name() const { return peer_name_; }
  int fd() const { return fd_.get(); }

 private:
  absl::Status HeaderReceived();
  absl::Status Lost(int error);
  // What the peer said before it fell silent: reads on through whatever it sent until
  // its farewell, its end, or a short time.
  std::optional<std::string> FindFarewell();
  bool ReadFully(std::span<std::byte> into, int64_t deadline_ns);
  bool SkipFully(uint64_t bytes, int64_t deadline_ns);

  UniqueFd fd_;
  int rank_;
  int peer_;
  std::string peer_name_;
  const Clock& clock_;

  bool sending_ = false;
  bool writable_ = true;
  MessageHeaderBytes send_header_{};
  std::span<const std::byte> send_data_;
  size_t sent_bytes_ = 0;  // header included

  bool receiving_ = false;
  bool readable_ = true;
  MessageTag receive_tag_;
  MessageHeaderBytes receive_header_{};
  std::span<std::byte> receive_into_;
  size_t received_bytes_ = 0;  // header included

  bool peer_closed_ = false;  // the peer has ended its side
  bool moved_ = false;
  std::string farewell_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TCP_CONNECTION_H_
