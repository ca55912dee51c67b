#include "allreduce/shared_memory/meeting.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "allreduce/wait_note.h"
#include "core/check.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

constexpr int64_t kSliceNs = 50'000'000;

// How long a frame may take to follow its digest.
constexpr int64_t kFrameNs = 1'000'000'000;

// Of a frame but for its sender, which is all that may differ: frames that differ in one of its
// twelve words alone always have different digests, others but for one in 2^64.
uint64_t DigestOf(FrameBytes bytes) {
  constexpr size_t kSenderBegin = 12;
  std::memset(bytes.data() + kSenderBegin, 0, sizeof(uint32_t));
  uint64_t digest = 0;
  for (size_t at = 0; at < kFrameBytes; at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    digest = (digest ^ word) * 0x9e3779b97f4a7c15;
    digest ^= digest >> 32;
  }
  return digest;
}

}  // namespace

Meeting::Meeting(const Region& region, std::vector<int> ranks, const Options& options,
                 net::Endpoint& endpoint, const Clock& clock)
    : region_(region),
      ranks_(std::move(ranks)),
      options_(options),
      endpoint_(endpoint),
      clock_(clock),
      patience_(options.spin_rounds, options.yield, clock) {
  const auto self = std::ranges::find(ranks_, endpoint.rank());
  CROSSOVER_CHECK(self != ranks_.end(), "a rank is a member of its host's group");
  self_ = static_cast<int>(self - ranks_.begin());
}

Announcement& Meeting::Begin() { return region_.announcement(self_, ++index_); }

absl::Status Meeting::Announce(const Frame& frame, double grace_s) {
  frame_ = &frame;
  patience_s_ = options_.silence_s + grace_s;
  const FrameBytes bytes = EncodeFrame(frame);
  digest_ = DigestOf(bytes);
  region_.cell(self_).digests[index_ % 2].store(digest_, std::memory_order_relaxed);
  announcing_ = true;
  Post();
  // The frame itself is for errors: nobody waits for it while all is well.
  Announcement& ours = region_.announcement(self_, index_);
  ours.frame = bytes;
  ours.index.store(index_, std::memory_order_release);
  RETURN_IF_ERROR(AwaitAll());
  RETURN_IF_ERROR(Compare());
  announcing_ = false;
  return absl::OkStatus();
}

absl::Status Meeting::Sync() {
  Post();
  return AwaitAll();
}

void Meeting::Post() {
  Cell& cell = region_.cell(self_);
  // In one order with the sleepers' count, or both sides could miss each other.
  cell.posts.store(++posts_, std::memory_order_seq_cst);
  if (cell.sleepers.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, &cell.posts, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

bool Meeting::HasCome(int member) const {
  const uint32_t posts = region_.cell(member).posts.load(std::memory_order_acquire);
  return static_cast<int32_t>(posts - posts_) >= 0;
}

absl::Status Meeting::AwaitAll() {
  for (int k = 1; k < members(); ++k) RETURN_IF_ERROR(Await((self_ + k) % members()));
  return absl::OkStatus();
}

absl::Status Meeting::Await(int member) {
  std::optional<int64_t> since_ns;  // blocking, that is, or since its pulse was last felt
  const std::atomic<uint32_t>& pulse = region_.cell(member).pulse;
  uint32_t felt = pulse.load(std::memory_order_relaxed);
  while (!HasCome(member)) {
    if (patience_.LookAgain()) continue;
    if (!since_ns) since_ns = clock_.NowNs();
    SleepOn(member);
    if (HasCome(member)) break;
    if (const uint32_t now = pulse.load(std::memory_order_relaxed); now != felt) {
      felt = now;
      since_ns = clock_.NowNs();
    }
    RETURN_IF_ERROR(LookAround(*since_ns));
  }
  patience_.Found();
  return absl::OkStatus();
}

void Meeting::SleepOn(int member) const {
  Cell& cell = region_.cell(member);
  cell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t posts = cell.posts.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(posts - posts_) < 0) {
    const timespec slice = {0, kSliceNs};
    syscall(SYS_futex, &cell.posts, FUTEX_WAIT, posts, &slice, nullptr, 0);
  }
  cell.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

absl::Status Meeting::LookAround(int64_t waiting_since_ns) {
  // A mismatch first: it says more than a peer's end that follows from it.
  if (announcing_) RETURN_IF_ERROR(Compare());
  RETURN_IF_ERROR(endpoint_.Wait({}, 0));
  RETURN_IF_ERROR(TalkAndListen(waiting_since_ns));
  const double waited_s = static_cast<double>(clock_.NowNs() - waiting_since_ns) * 1e-9;
  if (waited_s < patience_s_) return absl::OkStatus();
  absl::Status error = SilenceError();
  endpoint_.Abort(error);
  return error;
}

// With ranks that wait over the endpoint, for this one or for others.
absl::Status Meeting::TalkAndListen(int64_t waiting_since_ns) {
  const int64_t now_ns = clock_.NowNs();
  const bool wonder = AnyNoteSince(endpoint_, waiting_since_ns);
  const auto silence_ns = static_cast<int64_t>(options_.silence_s * 1e9);
  const bool long_ago = now_ns - waiting_since_ns >= WonderNs(silence_ns);
  if (!wonder && !long_ago) return absl::OkStatus();
  const std::string text = absl::StrCat("waits in shared memory for ",
                                        Missing(/*with_doings=*/false), " in ", Describe(*frame_));
  if (published_ns_ < waiting_since_ns) {
    endpoint_.Publish(WaitNote(*frame_, text));
    published_ns_ = now_ns;
  }
  if (!wonder) return absl::OkStatus();
  absl::Status differ = CompareNotes(endpoint_, waiting_since_ns, *frame_, text);
  if (!differ.ok()) endpoint_.Abort(differ);
  return differ;
}

void Meeting::Pulse() const {
  std::atomic<uint32_t>& pulse = region_.cell(self_).pulse;
  pulse.store(pulse.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

absl::Status Meeting::Compare() {
  for (int member = 0; member < members(); ++member) {
    if (member == self_ || !HasCome(member)) continue;
    const auto& theirs = region_.cell(member).digests[index_ % 2];
    if (theirs.load(std::memory_order_relaxed) == digest_) continue;
    absl::Status error = Mismatch(member);
    endpoint_.Abort(error);
    return error;
  }
  return absl::OkStatus();
}

absl::Status Meeting::Mismatch(int member) const {
  const Announcement& theirs = region_.announcement(member, index_);
  const int64_t since_ns = clock_.NowNs();
  while (theirs.index.load(std::memory_order_acquire) != index_ &&
         clock_.NowNs() - since_ns < kFrameNs) {
    sched_yield();
  }
  return MismatchError(ranks_[self_], ranks_[member], theirs.frame, *frame_);
}

absl::Status Meeting::SilenceError() const {
  return absl::DeadlineExceededError(
      absl::StrCat("rank ", ranks_[self_], " in ", Describe(*frame_), " has waited for ",
                   patience_s_, " s in shared memory for ", Missing(/*with_doings=*/true),
                   "; fix: see what those ranks do, or allow more time"));
}

std::string Meeting::Missing(bool with_doings) const {
  std::vector<std::string> missing;
  for (int member = 0; member < members(); ++member) {
    if (member == self_ || HasCome(member)) continue;
    missing.push_back(absl::StrCat("rank ", ranks_[member]));
    if (with_doings) absl::StrAppend(&missing.back(), " (", LastDoing(member), ")");
  }
  return absl::StrJoin(missing, ", ");
}

std::string Meeting::LastDoing(int member) const {
  if (region_.cell(member).pid.load(std::memory_order_acquire) == 0) return "has not come yet";
  uint64_t index = 0;
  for (int k = 0; k < 2; ++k) {
    const Announcement& announcement = region_.announcement(member, k);
    index = std::max(index, announcement.index.load(std::memory_order_acquire));
  }
  if (index == 0) return "has begun no collective";
  // It may be writing at this moment: the frame says whether it is one.
  const FrameBytes bytes = region_.announcement(member, index).frame;
  const absl::StatusOr<Frame> frame = DecodeFrame(bytes);
  if (!frame.ok()) return "in a collective that cannot be read";
  return absl::StrCat(index == index_ ? "still in " : "last in ", Describe(*frame));
}

}  // namespace crossover::allreduce
