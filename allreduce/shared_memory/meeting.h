// How the ranks of one host wait for each other: each posts how far it is and waits until all have
// posted as much. It spins for a bounded time, then sleeps in the kernel in short slices, between
// which it asks the endpoint whether a peer has died or given up, and compares the announcements
// and notes (allreduce/wait_note.h) that have come. Belongs to one thread.
#ifndef CROSSOVER_ALLREDUCE_SHARED_MEMORY_MEETING_H_
#define CROSSOVER_ALLREDUCE_SHARED_MEMORY_MEETING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "allreduce/frame.h"
#include "allreduce/patience.h"
#include "allreduce/shared_memory/region.h"
#include "core/clock.h"
#include "net/endpoint.h"

namespace crossover::allreduce {

class Meeting {
 public:
  struct Options {
    double silence_s = 10;   // in one wait
    int spin_rounds = 2000;  // looks before it sleeps, at most (allreduce/patience.h)
    bool yield = false;      // between looks
  };
  // `ranks`: of the members, in their order; this one is the endpoint's. All references are
  // borrowed and outlive this.
  Meeting(const Region& region, std::vector<int> ranks, const Options& options,
          net::Endpoint& endpoint, const Clock& clock);

  int members() const { return static_cast<int>(ranks_.size()); }
  int self() const { return self_; }
  // Counts the announcements, this one included.
  uint64_t index() const { return index_; }

  // Begins a collective: the announcement to fill before Announce.
  Announcement& Begin();
  // Tells it and waits until all others have told the same. `frame` is ours (its sender, too) and
  // is borrowed until the next one. It waits longer than silence_s by `grace_s`, and so does Sync
  // until the next announcement. Errors: those of Sync; a frame that differs in more than its
  // sender.
  absl::Status Announce(const Frame& frame, double grace_s = 0);
  // Waits until all others have called it as often. What was written before is seen by all after.
  // Errors: the endpoint's; silence, which names the ranks that have not come.
  absl::Status Sync();
  // A sign of life to those who wait for this member, whose silence begins anew.
  void Pulse() const;

 private:
  void Post();
  absl::Status AwaitAll();
  absl::Status Await(int member);
  bool HasCome(int member) const;
  void SleepOn(int member) const;
  absl::Status LookAround(int64_t waiting_since_ns);
  absl::Status TalkAndListen(int64_t waiting_since_ns);
  absl::Status Compare();  // the announcements of those who have come
  absl::Status Mismatch(int member) const;
  absl::Status SilenceError() const;
  std::string Missing(bool with_doings) const;
  std::string LastDoing(int member) const;

  const Region& region_;
  const std::vector<int> ranks_;
  const Options options_;
  net::Endpoint& endpoint_;
  const Clock& clock_;
  Patience patience_;
  int self_ = 0;
  uint32_t posts_ = 0;
  uint64_t index_ = 0;
  const Frame* frame_ = nullptr;  // of the present collective
  uint64_t digest_ = 0;           // of that frame
  bool announcing_ = false;
  double patience_s_ = 0;     // silence_s and the grace
  int64_t published_ns_ = 0;  // when peers were last told what is awaited
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_SHARED_MEMORY_MEETING_H_
