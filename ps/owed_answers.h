// What the servers owe a worker: one answer at a time for each part that it sent something of, and
// acks of what it sent to whole servers. Pure; not thread-safe.
#ifndef CROSSOVER_PS_OWED_ANSWERS_H_
#define CROSSOVER_PS_OWED_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ps/wire.h"

namespace crossover::ps {

// What a part's next frame from its server answers.
enum class Owed { kNothing, kInitialize, kPull, kPush, kNorm };

class OwedAnswers {
 public:
  OwedAnswers(size_t parts, size_t servers) : parts_(parts, Owed::kNothing), acks_(servers) {}

  void Expect(int part, Owed owed) { parts_[part] = owed; }
  // So many acks from each server.
  void ExpectAcks(int acks);
  Owed Of(int part) const { return parts_[part]; }
  // By server.
  bool acks_missing(int server) const { return acks_[server] > 0; }
  bool any_acks_missing() const;
  // A part that lacks its answer.
  std::optional<int> AnyPart() const;

  // Frames that came; the part is in range. Each refuses, and changes nothing, where nothing asked
  // for it. A push of `step` is answered by squares and, once its norm is expected, by a reply, or
  // by a reply alone.
  absl::Status TakeAck(int server, const FrameHeader& header);
  absl::Status TakeSquares(const FrameHeader& header, int64_t step);
  // Returns what the reply answers.
  absl::StatusOr<Owed> TakeReply(const FrameHeader& header, int64_t step);

 private:
  std::vector<Owed> parts_;
  std::vector<int> acks_;  // by server
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_OWED_ANSWERS_H_
