#include "ps/owed_answers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace crossover::ps {
namespace {

absl::Status Unasked(absl::string_view what, const FrameHeader& header) {
  std::string of;
  if (header.part != FrameHeader::kNoPart) absl::StrAppend(&of, " for part ", header.part);
  if (header.kind != FrameKind::kAck) absl::StrAppend(&of, " and step ", header.step);
  return absl::InvalidArgumentError(
      absl::StrCat("the server sent ", what, of, " that nothing asked for"));
}

}  // namespace

void OwedAnswers::ExpectAcks(int acks) {
  for (int& missing : acks_) missing += acks;
}

bool OwedAnswers::any_acks_missing() const {
  return std::any_of(acks_.begin(), acks_.end(), [](int missing) { return missing > 0; });
}

std::optional<int> OwedAnswers::AnyPart() const {
  const auto part =
      std::find_if(parts_.begin(), parts_.end(), [](Owed owed) { return owed != Owed::kNothing; });
  if (part == parts_.end()) return std::nullopt;
  return static_cast<int>(part - parts_.begin());
}

absl::Status OwedAnswers::TakeAck(int server, const FrameHeader& header) {
  if (header.part == FrameHeader::kNoPart) {
    if (acks_[server] == 0) return Unasked("an ack", header);
    --acks_[server];
    return absl::OkStatus();
  }
  if (parts_[header.part] != Owed::kInitialize) return Unasked("an ack", header);
  parts_[header.part] = Owed::kNothing;
  return absl::OkStatus();
}

absl::Status OwedAnswers::TakeSquares(const FrameHeader& header, int64_t step) {
  if (parts_[header.part] != Owed::kPush || header.step != step) return Unasked("squares", header);
  parts_[header.part] = Owed::kNothing;
  return absl::OkStatus();
}

absl::StatusOr<Owed> OwedAnswers::TakeReply(const FrameHeader& header, int64_t step) {
  const Owed owed = parts_[header.part];
  const bool of_push = owed == Owed::kPush || owed == Owed::kNorm;
  const bool asked = (owed == Owed::kPull && header.step == -1) || (of_push && header.step == step);
  if (!asked) return Unasked("a reply", header);
  return std::exchange(parts_[header.part], Owed::kNothing);
}

}  // namespace crossover::ps
