#include "allreduce/engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "allreduce/wait_note.h"
#include "core/check.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
// The buckets of a step, mostly.
constexpr size_t kSparesMax = 32;

}  // namespace

Engine::Engine(net::Endpoint& endpoint, const Options& options, const Clock& clock)
    : endpoint_(endpoint),
      options_(options),
      clock_(clock),
      patience_(options.spin_rounds, options.yield, clock) {
  for (int peer = 0; peer < endpoint.world_size(); ++peer) {
    outgoing_.emplace_back(endpoint.rank(), peer, options.chunk_bytes);
    incoming_.emplace_back(endpoint.rank(), peer, options.chunk_bytes);
  }
}

int64_t Engine::Start(Operation operation) {
  if (flights_.empty()) moved_ns_ = kJustNow;
  std::unique_ptr<Flight> flight = FlightOf(std::move(operation));
  for (size_t step = 0; step < flight->steps().size(); ++step) {
    for (FlightTransfer& send : flight->steps()[step].sends) {
      outgoing_[static_cast<size_t>(send.peer)].Queue({flight.get(), step, &send});
    }
    for (FlightTransfer& receive : flight->steps()[step].receives) {
      incoming_[static_cast<size_t>(receive.peer)].Queue({flight.get(), step, &receive});
    }
  }
  flights_.push_back(std::move(flight));
  return first_number_ + static_cast<int64_t>(flights_.size()) - 1;
}

// In the storage of one that had the same schedule, where there is one.
std::unique_ptr<Flight> Engine::FlightOf(Operation operation) {
  const auto alike = std::ranges::find_if(spares_, [&](const std::unique_ptr<Flight>& spare) {
    return spare->operation().schedule == operation.schedule;
  });
  if (alike == spares_.end()) return std::make_unique<Flight>(std::move(operation));
  std::unique_ptr<Flight> flight = std::move(*alike);
  spares_.erase(alike);
  flight->Restart(std::move(operation));
  return flight;
}

bool Engine::IsDone(int64_t number) const {
  CROSSOVER_CHECK(number < first_number_ + static_cast<int64_t>(flights_.size()),
                  "a collective that has been started");
  return number < first_number_ || flights_[static_cast<size_t>(number - first_number_)]->done();
}

absl::StatusOr<bool> Engine::Progress() {
  RETURN_IF_ERROR(failure_);
  absl::StatusOr<bool> moved = MoveAll();
  if (!moved.ok()) return Fail(moved.status());
  if (*moved) moved_ns_ = kJustNow;
  DropDone();
  return moved;
}

void Engine::DropDone() {
  while (!flights_.empty() && flights_.front()->done()) {
    if (spares_.size() == kSparesMax) spares_.erase(spares_.begin());
    spares_.push_back(std::move(flights_.front()));
    flights_.pop_front();
    ++first_number_;
  }
}

absl::StatusOr<bool> Engine::MoveAll() {
  bool any = false;
  for (Outgoing& stream : outgoing_) {
    if (stream.empty()) continue;
    ASSIGN_OR_RETURN(const bool moved, stream.Advance(endpoint_, counters_));
    any |= moved;
  }
  for (Incoming& stream : incoming_) {
    if (stream.empty()) continue;
    ASSIGN_OR_RETURN(const bool moved, stream.Advance(endpoint_, incoming_, counters_));
    any |= moved;
  }
  return any;
}

absl::Status Engine::Finish(int64_t number, const std::function<void()>& moved_something) {
  while (!IsDone(number)) {
    ASSIGN_OR_RETURN(const bool moved, Progress());
    if (moved && moved_something) moved_something();
    RETURN_IF_ERROR(Rest(moved));
  }
  DropDone();  // of one rank: nothing has moved, it was done from the start
  return failure_;
}

absl::Status Engine::Rest(bool moved) {
  if (moved) {
    patience_.Found();
    return absl::OkStatus();
  }
  return patience_.LookAgain() ? absl::OkStatus() : Wait();
}

absl::Status Engine::Wait() {
  RETURN_IF_ERROR(failure_);
  if (const absl::Status status = WaitForBytes(); !status.ok()) return Fail(status);
  return absl::OkStatus();
}

absl::Status Engine::WaitForBytes() {
  const int64_t silence_ns = static_cast<int64_t>(options_.silence_s * kNsPerSecond);
  const int64_t now_ns = clock_.NowNs();
  if (moved_ns_ == kJustNow || flights_.empty()) moved_ns_ = now_ns;
  const int64_t silent_ns = now_ns - moved_ns_;
  if (silent_ns >= silence_ns) return SilenceError();
  // The first to wonder tells the others, and they answer. So ranks that wait for each other in
  // different collectives find out, and at the deadline who says nothing is missing.
  const int64_t wonder_ns = WonderNs(silence_ns);
  const bool told = published_ns_ >= moved_ns_;
  const bool somebody_wonders = !flights_.empty() && AnyNoteSince(endpoint_, moved_ns_);
  if (!flights_.empty() && !told && (silent_ns >= wonder_ns || somebody_wonders)) {
    endpoint_.Publish(WaitNote(flights_.front()->operation().frame, WhatIsAwaited()));
    published_ns_ = now_ns;
  }
  if (somebody_wonders) {
    RETURN_IF_ERROR(
        CompareNotes(endpoint_, moved_ns_, flights_.front()->operation().frame, WhatIsAwaited()));
  }
  interests_.clear();
  for (int peer = 0; peer < endpoint_.world_size(); ++peer) {
    const net::Interest interest{
        .peer = peer,
        .send = outgoing_[static_cast<size_t>(peer)].wants_to_send(),
        .receive = incoming_[static_cast<size_t>(peer)].wants_to_receive()};
    if (interest.send || interest.receive) interests_.push_back(interest);
  }
  const int64_t next_ns = silent_ns < wonder_ns ? wonder_ns : silence_ns;
  return endpoint_.Wait(interests_, flights_.empty() ? silence_ns : next_ns - silent_ns);
}

absl::Status Engine::Fail(const absl::Status& status) {
  failure_ = status;
  endpoint_.Abort(status);
  return failure_;
}

// "waits for rank 3 in AllReduce 41 (...), step 2 of 6"
std::string Engine::WhatIsAwaited() const {
  std::vector<std::string> peers;
  for (int peer = 0; peer < endpoint_.world_size(); ++peer) {
    if (Awaits(peer)) peers.push_back(absl::StrCat("rank ", peer));
  }
  const Flight& flight = *flights_.front();
  Frame frame = flight.operation().frame;
  frame.step = static_cast<uint32_t>(flight.first_open_step());
  return absl::StrCat("waits for ", absl::StrJoin(peers, ", "), " in ", Describe(frame), " of ",
                      flight.operation().schedule->size());
}

bool Engine::Awaits(int peer) const {
  const size_t index = static_cast<size_t>(peer);
  return incoming_[index].wants_to_receive() || outgoing_[index].wants_to_send();
}

// Missing is who says nothing though this rank waits for it; where all of those wait themselves,
// whoever else says nothing.
absl::Status Engine::SilenceError() const {
  std::vector<std::string> awaited;
  std::vector<std::string> silent;
  std::vector<std::string> waiting;
  for (int peer = 0; peer < endpoint_.world_size(); ++peer) {
    if (peer == endpoint_.rank()) continue;
    const net::PeerNote& note = endpoint_.NoteOf(peer);
    if (note.received_ns > moved_ns_) {
      waiting.push_back(absl::StrCat("rank ", peer, " ", TextOf(note)));
      continue;
    }
    const std::optional<Frame>& last = incoming_[static_cast<size_t>(peer)].last_frame();
    (Awaits(peer) ? awaited : silent)
        .push_back(absl::StrCat("rank ", peer, " (",
                                last ? "last heard in " + Describe(*last) : "not heard here", ")"));
  }
  waiting.push_back(absl::StrCat("rank ", endpoint_.rank(), " ", WhatIsAwaited()));
  const std::vector<std::string>& missing = awaited.empty() ? silent : awaited;
  return absl::DeadlineExceededError(absl::StrCat(
      "no byte for ", options_.silence_s, " s; ",
      missing.empty() ? "all ranks wait: the network carries nothing"
                      : "missing, without a word of what it does: " + absl::StrJoin(missing, ", "),
      "; ", absl::StrJoin(waiting, "; ")));
}

}  // namespace crossover::allreduce
