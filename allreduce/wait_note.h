// What ranks that wait for long tell each other beside the data (net::Endpoint::Publish): in which
// collective, and for whom. Ranks that wait for each other in different collectives exchange
// neither frames nor announcements; their notes show it. Pure, thread-safe.
#ifndef CROSSOVER_ALLREDUCE_WAIT_NOTE_H_
#define CROSSOVER_ALLREDUCE_WAIT_NOTE_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "allreduce/frame.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

// Silence after which a rank says what it waits for: longer than steps of ranks that differ in
// speed part, shorter than a user's patience.
inline constexpr int64_t kWonderNs = 250'000'000;
inline int64_t WonderNs(int64_t silence_ns) { return std::min(kWonderNs, silence_ns / 2); }

// The note of a rank that is in `frame`'s collective; `text`: "waits for rank 3 in ...".
std::string WaitNote(const Frame& frame, absl::string_view text);
// The text of such a note.
absl::string_view TextOf(const net::PeerNote& note);

// Whether a peer's note has come since.
bool AnyNoteSince(const net::Endpoint& endpoint, int64_t since_ns);
// Errors: a note that has come since is of another collective with the same number; both sides are
// shown, ours as `text`.
absl::Status CompareNotes(const net::Endpoint& endpoint, int64_t since_ns, const Frame& frame,
                          absl::string_view text);

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_WAIT_NOTE_H_
