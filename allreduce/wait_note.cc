#include "allreduce/wait_note.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/fnv1a.h"

namespace crossover::allreduce {
namespace {

// A note is "SEQUENCE DIGEST TEXT".
struct Parts {
  absl::string_view sequence;
  absl::string_view digest;
  absl::string_view text;
};
Parts Parse(absl::string_view note) {
  const std::pair<absl::string_view, absl::string_view> first =
      absl::StrSplit(note, absl::MaxSplits(' ', 1));
  const std::pair<absl::string_view, absl::string_view> second =
      absl::StrSplit(first.second, absl::MaxSplits(' ', 1));
  return {first.first, second.first, second.second};
}

}  // namespace

std::string WaitNote(const Frame& frame, absl::string_view text) {
  // What ranks in one collective have alike.
  Frame common = frame;
  common.sender = 0;
  common.step = 0;
  common.bytes = 0;
  return absl::StrCat(frame.sequence, " ", absl::Hex(Fnv1a(EncodeFrame(common))), " ", text);
}

absl::string_view TextOf(const net::PeerNote& note) { return Parse(note.text).text; }

bool AnyNoteSince(const net::Endpoint& endpoint, int64_t since_ns) {
  for (int peer = 0; peer < endpoint.world_size(); ++peer) {
    if (endpoint.NoteOf(peer).received_ns > since_ns) return true;
  }
  return false;
}

absl::Status CompareNotes(const net::Endpoint& endpoint, int64_t since_ns, const Frame& frame,
                          absl::string_view text) {
  const std::string own = WaitNote(frame, text);
  const Parts ours = Parse(own);
  for (int peer = 0; peer < endpoint.world_size(); ++peer) {
    const net::PeerNote& note = endpoint.NoteOf(peer);
    const Parts theirs = Parse(note.text);
    if (note.received_ns <= since_ns || theirs.sequence != ours.sequence ||
        theirs.digest == ours.digest) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat("rank ", peer, " ", theirs.text, "; rank ",
                                                      endpoint.rank(), " ", text,
                                                      ": their collectives differ"));
  }
  return absl::OkStatus();
}

}  // namespace crossover::allreduce
