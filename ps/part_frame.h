// A frame that a server has received, on its way to the lane of its part (ps/apply_lanes.h). What
// was received counts as held until it has been handled.
#ifndef CROSSOVER_PS_PART_FRAME_H_
#define CROSSOVER_PS_PART_FRAME_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "ps/frame_buffer.h"
#include "ps/payload.h"
#include "ps/served_shards.h"
#include "ps/stream_to_worker.h"
#include "ps/wire.h"

namespace crossover::ps {

// Belongs to whoever handles it: the receiving thread, then the lane's.
struct PartFrame {
  PartFrame(int worker, int channel, std::shared_ptr<StreamToWorker> stream,
            const grpc::ByteBuffer& buffer)
      : worker(worker),
        channel(channel),
        stream(std::move(stream)),
        message(std::in_place, buffer) {}
  Payload payload() const { return message->bytes().Tail(FrameHeader::kBytes, header.type); }
  void CountIn(ServedShards& holder) {
    shards = &holder;
    shards->pool().Count(header.payload_bytes);
  }
  // To be called once, by whoever handled it last.
  void Handled(const absl::Status& status) {
    message.reset();
    if (shards != nullptr) shards->pool().Uncount(header.payload_bytes);
    stream->Handled(status);
  }

  const int worker;
  const int channel;
  const std::shared_ptr<StreamToWorker> stream;
  std::optional<ReceivedMessage> message;
  FrameHeader header;
  ServedShards* shards = nullptr;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_PART_FRAME_H_
