// The frame before every message between ranks of a collective: what its sender believes that it
// is doing. A receiver knows what must come and refuses anything else, showing both sides.
// 96 bytes, little-endian:
//   magic u32 | version u16 | kind u8 | algorithm u8 | type u8 | op u8 | reserved u16 |
//   sender u32 | job u64 | group u32 | step u32 | sequence u64 | count u64 | bytes u64 |
//   root u32 | reserved u32 | name[32]
// Pure, thread-safe.
#ifndef CROSSOVER_ALLREDUCE_FRAME_H_
#define CROSSOVER_ALLREDUCE_FRAME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allreduce/algorithms.h"
#include "core/data_type.h"

namespace crossover::allreduce {

inline constexpr size_t kFrameBytes = 96;
inline constexpr size_t kNameBytesMax = 32;
using FrameBytes = std::array<std::byte, kFrameBytes>;

struct Frame {
  Kind kind = Kind::kBarrier;
  Algorithm algorithm = Algorithm::kDissemination;
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  uint32_t sender = 0;    // rank
  uint64_t job = 0;       // fingerprint
  uint32_t group = 0;     // of ranks; tells communicators of one job apart
  uint32_t step = 0;      // of the schedule
  uint64_t sequence = 0;  // counts the group's collectives
  uint64_t count = 0;     // values of the whole collective's buffer
  uint64_t bytes = 0;     // of values that follow this frame
  uint32_t root = 0;
  std::string name;  // what the caller calls the buffer, as NameInFrame has it
};

// A name that a frame has room for. A long one is its beginning and a digest of all of it, so that
// names of parameters, which begin alike, stay different.
std::string NameInFrame(std::string_view name);

FrameBytes EncodeFrame(const Frame& frame);
// Makes of one collective's frame that of one of its messages.
void SetMessage(int sender, size_t step, int64_t bytes, FrameBytes& frame);
// Errors: another magic or version, an unknown number, a length that no collective has.
absl::StatusOr<Frame> DecodeFrame(std::span<const std::byte, kFrameBytes> bytes);

// The error for a message that is not the one that `rank` waits for from `peer`:
// "rank 1 is in AllReduce 41 (ring, sum of 1000 fp32 "bucket 3", step 2, 2000 bytes); rank 0 is in
// AllReduce 41 (ring, sum of 1024 fp32 "bucket 3", step 2, 2048 bytes): ..." and names what
// differs. `got` may be bytes that are no frame at all.
absl::Status MismatchError(int rank, int peer, std::span<const std::byte, kFrameBytes> got,
                           const Frame& expected);

// "AllReduce 41 (ring, sum of 1024 fp32 "bucket 3", step 2)"
std::string Describe(const Frame& frame);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_FRAME_H_
