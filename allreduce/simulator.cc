#include "allreduce/simulator.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/combine.h"
#include "core/status.h"

namespace crossover::allreduce {
namespace {

using Bytes = std::vector<std::byte>;

struct Message {
  int step = 0;
  Transfer transfer;
  bool framed = false;  // its frame has been handed over, or has come
  int64_t staged = 0;   // of a receive in rank order: values that have come
  int64_t done = 0;     // values handed over, or combined
  Bytes stage;

  bool finished() const { return framed && done == transfer.segment.length; }
  int64_t begin() const { return transfer.segment.offset; }
  int64_t end() const { return transfer.segment.offset + transfer.segment.length; }
};

// What lies in a stream: a frame, or values with the state that they had when they were sent.
struct Parcel {
  int step = 0;
  bool frame = false;
  int64_t offset = 0;
  Bytes values;
  std::vector<uint32_t> versions;
  int64_t arrives_at = 0;  // tick

  int64_t size() const { return frame ? 1 : static_cast<int64_t>(versions.size()); }
};

struct Stream {
  std::deque<Parcel> parcels;
  int64_t held = 0;  // values and frames in it
  int64_t last_arrival = 0;
};

struct Rank {
  const Schedule* schedule = nullptr;
  Bytes values;
  std::vector<uint32_t> versions;  // of each value: how often it has been written
  std::vector<Message> sends;      // by step
  std::vector<Message> receives;
  std::map<int, std::deque<size_t>> send_queue;  // by peer: open messages, by step
  std::map<int, std::deque<size_t>> receive_queue;
  size_t first_open_send = 0;  // all before it are finished
  size_t first_open_receive = 0;
  int64_t sent = 0;
  int64_t received = 0;
  uint64_t haste = 1;  // moves at one chance in this many
  Moments moments;     // `began` is decided beforehand
};

// The first value from `position` on that one of the open messages of steps up to `last_step`
// still has to read or write; `end` if there is none before it.
int64_t FirstPending(const std::vector<Message>& messages, size_t first_open, int last_step,
                     int64_t position, int64_t end) {
  for (size_t i = first_open; i < messages.size() && messages[i].step <= last_step; ++i) {
    const int64_t pending = std::max(position, messages[i].begin() + messages[i].done);
    if (pending < messages[i].end()) end = std::min(end, std::max(position, pending));
  }
  return end;
}

class Simulation {
 public:
  Simulation(const std::vector<Schedule>& schedules, std::vector<Bytes> buffers,
             const SimulationOptions& options);
  absl::Status Run();
  SimulationResult TakeResult();

 private:
  // Below, `chance` is false in the round that looks for a deadlock: everyone tries everything.
  absl::StatusOr<bool> Round(bool chance);
  absl::StatusOr<bool> Visit(int rank, bool chance);
  bool TrySend(int rank, int peer, std::deque<size_t>& queue);
  absl::StatusOr<bool> TryReceive(int rank, int peer, std::deque<size_t>& queue);
  int64_t TakeValues(Rank& self, Message& message, const Parcel& parcel);
  bool CombineStaged(int rank);
  bool CombineStep(int rank, const Step& step, const std::vector<Message*>& group);
  absl::Status CheckUnchanged(int rank, int peer, const Parcel& parcel, int64_t count) const;
  void Write(Rank& self, const Step& step, int64_t offset, const std::byte* from, int64_t count);
  bool MaySend(const Rank& self, const Message& message) const;
  int64_t Writable(const Rank& self, const Message& message) const;
  bool Finished() const;
  absl::Status Deadlock() const;

  int64_t Random(int64_t end) { return static_cast<int64_t>(random_() % end); }
  int64_t ValueBytes() const { return static_cast<int64_t>(BytesOf(options_.type)); }

  const SimulationOptions options_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, Stream> streams_;  // by sender and receiver
  int64_t tick_ = 0;
  // What the seed decides once.
  int64_t capacity_ = 1;   // of a stream
  int64_t stage_max_ = 1;  // values that a receive in rank order may be ahead of its sum
  int64_t move_max_ = 1;   // values that one call moves
  int64_t delay_max_ = 1;  // ticks
};

Simulation::Simulation(const std::vector<Schedule>& schedules, std::vector<Bytes> buffers,
                       const SimulationOptions& options)
    : options_(options), random_(options.seed), ranks_(schedules.size()) {
  capacity_ = int64_t{1} << Random(7);
  stage_max_ = int64_t{1} << Random(7);
  move_max_ = int64_t{1} << Random(7);
  delay_max_ = int64_t{1} << Random(6);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    Rank& self = ranks_[r];
    self.schedule = &schedules[r];
    self.values = std::move(buffers[r]);
    self.versions.resize(self.values.size() / ValueBytes());
    self.haste = Random(4) == 0 ? 16 : 1 + Random(3);
    self.moments.began = Random(4) == 0 ? 1 + Random(100) : 1;
    for (int k = 0; k < static_cast<int>(schedules[r].size()); ++k) {
      for (const Transfer& send : schedules[r][k].sends) {
        self.send_queue[send.peer].push_back(self.sends.size());
        self.sends.push_back({.step = k, .transfer = send, .stage = {}});
      }
      for (const Transfer& receive : schedules[r][k].receives) {
        self.receive_queue[receive.peer].push_back(self.receives.size());
        self.receives.push_back({.step = k, .transfer = receive, .stage = {}});
      }
    }
  }
}

absl::Status Simulation::Run() {
  while (!Finished()) {
    ++tick_;
    ASSIGN_OR_RETURN(bool moved, Round(/*chance=*/true));
    if (moved) continue;
    tick_ += delay_max_;  // all that is on its way arrives
    ASSIGN_OR_RETURN(moved, Round(/*chance=*/false));
    if (!moved) return Deadlock();
  }
  return absl::OkStatus();
}

SimulationResult Simulation::TakeResult() {
  SimulationResult result;
  for (Rank& self : ranks_) {
    result.buffers.push_back(std::move(self.values));
    result.sent.push_back(self.sent);
    result.received.push_back(self.received);
    result.moments.push_back(self.moments);
  }
  return result;
}

absl::StatusOr<bool> Simulation::Round(bool chance) {
  std::vector<int> order(ranks_.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[Random(i)]);
  bool moved = false;
  for (const int rank : order) {
    int64_t& began = ranks_[rank].moments.began;
    if (chance && (began > tick_ || Random(ranks_[rank].haste) != 0)) continue;
    began = std::min(began, tick_);
    ASSIGN_OR_RETURN(const bool this_moved, Visit(rank, chance));
    moved |= this_moved;
  }
  return moved;
}

absl::StatusOr<bool> Simulation::Visit(int rank, bool chance) {
  Rank& self = ranks_[rank];
  bool moved = false;
  const bool sends_first = Random(2) == 0;
  for (int turn = 0; turn < 2; ++turn) {
    if ((turn == 0) == sends_first) {
      for (auto& [peer, queue] : self.send_queue) {
        if (!chance || Random(2) == 0) moved |= TrySend(rank, peer, queue);
      }
      continue;
    }
    for (auto& [peer, queue] : self.receive_queue) {
      if (chance && Random(2) == 0) continue;
      ASSIGN_OR_RETURN(const bool received, TryReceive(rank, peer, queue));
      moved |= received;
    }
    moved |= CombineStaged(rank);
  }
  const auto skip = [](const std::vector<Message>& messages, size_t& first) {
    while (first < messages.size() && messages[first].finished()) ++first;
  };
  skip(self.sends, self.first_open_send);
  skip(self.receives, self.first_open_receive);
  if (moved) self.moments.ended = tick_;
  return moved;
}

// Whether the message may begin: an ordered one waits for all receives of earlier steps.
bool Simulation::MaySend(const Rank& self, const Message& message) const {
  if (!(*self.schedule)[message.step].ordered) return true;
  for (size_t i = self.first_open_receive; i < self.receives.size(); ++i) {
    if (self.receives[i].step >= message.step) return true;
    if (!self.receives[i].finished()) return false;
  }
  return true;
}

bool Simulation::TrySend(int rank, int peer, std::deque<size_t>& queue) {
  if (queue.empty()) return false;
  Rank& self = ranks_[rank];
  Message& message = self.sends[queue.front()];
  Stream& stream = streams_[{rank, peer}];
  if (!message.framed && !MaySend(self, message)) return false;
  Parcel parcel{.step = message.step, .frame = !message.framed, .values = {}, .versions = {}};
  int64_t count = 1;
  if (!parcel.frame) {
    parcel.offset = message.begin() + message.done;
    const int64_t final_end = FirstPending(self.receives, self.first_open_receive, message.step - 1,
                                           parcel.offset, message.end());
    count = std::min({final_end - parcel.offset, capacity_ - stream.held, 1 + Random(move_max_)});
  }
  if (count <= 0 || stream.held + count > capacity_) return false;
  if (!parcel.frame) {
    const std::byte* begin = self.values.data() + parcel.offset * ValueBytes();
    parcel.values.assign(begin, begin + count * ValueBytes());
    const auto version = self.versions.begin() + parcel.offset;
    parcel.versions.assign(version, version + count);
    message.done += count;
    self.sent += count;
  }
  message.framed = true;
  stream.last_arrival = std::max(stream.last_arrival, tick_ + Random(delay_max_));
  parcel.arrives_at = stream.last_arrival;
  stream.held += count;
  stream.parcels.push_back(std::move(parcel));
  if (message.finished()) queue.pop_front();
  return true;
}

// The end of what the message may overwrite, from its next value on.
int64_t Simulation::Writable(const Rank& self, const Message& message) const {
  const int64_t position = message.begin() + message.done;
  const int64_t end =
      FirstPending(self.sends, self.first_open_send, message.step, position, message.end());
  return FirstPending(self.receives, self.first_open_receive, message.step - 1, position, end);
}

absl::StatusOr<bool> Simulation::TryReceive(int rank, int peer, std::deque<size_t>& queue) {
  Rank& self = ranks_[rank];
  Stream& stream = streams_[{peer, rank}];
  if (stream.parcels.empty() || stream.parcels.front().arrives_at > tick_) return false;
  Parcel& parcel = stream.parcels.front();
  if (queue.empty() || self.receives[queue.front()].step != parcel.step ||
      self.receives[queue.front()].framed == parcel.frame) {
    return absl::InternalError(
        absl::StrCat("rank ", rank, " does not wait for step ", parcel.step, " of rank ", peer));
  }
  Message& message = self.receives[queue.front()];
  int64_t count = 1;
  if (parcel.frame) {
    message.framed = true;
  } else {
    count = TakeValues(self, message, parcel);
    if (count == 0) return false;
    if (options_.borrow) RETURN_IF_ERROR(CheckUnchanged(rank, peer, parcel, count));
    self.received += count;
    parcel.offset += count;
    parcel.values.erase(parcel.values.begin(), parcel.values.begin() + count * ValueBytes());
    parcel.versions.erase(parcel.versions.begin(), parcel.versions.begin() + count);
  }
  stream.held -= count;
  if (parcel.frame || parcel.size() == 0) stream.parcels.pop_front();
  if (message.framed && std::max(message.staged, message.done) == message.transfer.segment.length) {
    queue.pop_front();
  }
  return true;
}

// Combines or stages the first values of the parcel; returns how many.
int64_t Simulation::TakeValues(Rank& self, Message& message, const Parcel& parcel) {
  const Step& step = (*self.schedule)[message.step];
  const int64_t count = std::min(parcel.size(), 1 + Random(move_max_));
  if (step.action == Action::kReduceRankOrder) {
    const int64_t staged = std::min(count, message.done + stage_max_ - message.staged);
    message.stage.insert(message.stage.end(), parcel.values.begin(),
                         parcel.values.begin() + staged * ValueBytes());
    message.staged += staged;
    return staged;
  }
  const int64_t offset = message.begin() + message.done;
  const int64_t written = std::min(count, Writable(self, message) - offset);
  Write(self, step, offset, parcel.values.data(), written);
  message.done += written;
  if (written > 0) self.moments.last_value = tick_;
  return written;
}

void Simulation::Write(Rank& self, const Step& step, int64_t offset, const std::byte* from,
                       int64_t count) {
  if (count == 0) return;
  std::byte* into = self.values.data() + offset * ValueBytes();
  if (step.action == Action::kReplace) {
    std::memcpy(into, from, count * ValueBytes());
  } else {
    Combine(options_.type, options_.op, into, from, count);
    if (step.completes && options_.op == ReduceOp::kAverage) {
      FinishAverage(options_.type, into, count, static_cast<int>(ranks_.size()));
    }
  }
  for (int64_t i = offset; i < offset + count; ++i) ++self.versions[i];
}

absl::Status Simulation::CheckUnchanged(int rank, int peer, const Parcel& parcel,
                                        int64_t count) const {
  for (int64_t i = 0; i < count; ++i) {
    if (ranks_[peer].versions[parcel.offset + i] == parcel.versions[i]) continue;
    return absl::InternalError(absl::StrCat("rank ", peer, " has overwritten value ",
                                            parcel.offset + i, " of step ", parcel.step,
                                            " before rank ", rank, " has it"));
  }
  return absl::OkStatus();
}

bool Simulation::CombineStaged(int rank) {
  Rank& self = ranks_[rank];
  std::map<int, std::vector<Message*>> groups;  // by step
  for (size_t i = self.first_open_receive; i < self.receives.size(); ++i) {
    if ((*self.schedule)[self.receives[i].step].action != Action::kReduceRankOrder) continue;
    groups[self.receives[i].step].push_back(&self.receives[i]);
  }
  bool moved = false;
  for (const auto& [step, group] : groups) {
    moved |= CombineStep(rank, (*self.schedule)[step], group);
  }
  return moved;
}

bool Simulation::CombineStep(int rank, const Step& step, const std::vector<Message*>& group) {
  Rank& self = ranks_[rank];
  int64_t staged = std::numeric_limits<int64_t>::max();
  for (const Message* message : group) staged = std::min(staged, message->staged);
  const Message& first = *group.front();
  const int64_t offset = first.begin() + first.done;
  const int64_t count = std::min(first.begin() + staged, Writable(self, first)) - offset;
  // A group is whole or done: its messages are combined together.
  if (count <= 0 || group.size() != step.receives.size()) return false;
  std::map<int, const std::byte*> parts = {{rank, self.values.data() + offset * ValueBytes()}};
  for (const Message* message : group) {
    parts[message->transfer.peer] = message->stage.data() + message->done * ValueBytes();
  }
  std::vector<const std::byte*> in_order;
  for (const auto& [part_rank, part] : parts) in_order.push_back(part);
  const bool average = options_.op == ReduceOp::kAverage && step.completes;
  const ReduceOp op = options_.op == ReduceOp::kAverage && !average ? ReduceOp::kSum : options_.op;
  CombineInOrder(options_.type, op, self.values.data() + offset * ValueBytes(), in_order, count);
  for (int64_t i = offset; i < offset + count; ++i) ++self.versions[i];
  for (Message* message : group) message->done += count;
  self.moments.last_value = tick_;
  return true;
}

bool Simulation::Finished() const {
  return std::ranges::all_of(ranks_, [](const Rank& self) {
    return self.first_open_send == self.sends.size() &&
           self.first_open_receive == self.receives.size();
  });
}

absl::Status Simulation::Deadlock() const {
  std::string text = "deadlock:";
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& self = ranks_[r];
    const auto say = [&](const char* what, const std::vector<Message>& messages, size_t first) {
      if (first == messages.size()) return;
      const Message& message = messages[first];
      absl::StrAppend(&text, " rank ", r, " ", what, " ", message.transfer.peer, " in step ",
                      message.step, " (", message.done, " of ", message.transfer.segment.length,
                      ");");
    };
    say("sends to", self.sends, self.first_open_send);
    say("receives from", self.receives, self.first_open_receive);
  }
  return absl::DeadlineExceededError(text);
}

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const std::vector<Schedule>& schedules,
                                          std::vector<Bytes> buffers,
                                          const SimulationOptions& options) {
  CROSSOVER_CHECK(schedules.size() == buffers.size(), "a buffer a rank");
  Simulation simulation(schedules, std::move(buffers), options);
  RETURN_IF_ERROR(simulation.Run());
  return simulation.TakeResult();
}

}  // namespace crossover::allreduce
