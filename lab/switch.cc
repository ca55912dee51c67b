#include "lab/switch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/status.h"
#include "lab/tap.h"

namespace crossover::lab {
namespace {

// A device is read this long before its link is free, which spares wake-ups; the times of
// the frames do not depend on it.
constexpr int64_t kLookAheadNs = 50'000;
constexpr int64_t kIdleWaitNs = 1'000'000'000;
constexpr int kPacketsARound = 16;                // of one port, before the others' turn
constexpr int64_t kHeldBytesMax = 1'000'000'000;  // of all packets: a bound on memory
constexpr size_t kControlBytesMax = 4096;
constexpr std::array<uint8_t, 4> kMacPrefix = {0x02, 0x78, 0x6f, 0x00};

bool ArrivesLater(const auto& a, const auto& b) {
  return std::pair(a.arrival.last_bit_ns, a.order) > std::pair(b.arrival.last_bit_ns, b.order);
}

}  // namespace

int PortOf(std::span<const uint8_t> frame, int ports) {
  if (frame.size() < 6 || !std::equal(kMacPrefix.begin(), kMacPrefix.end(), frame.begin())) {
    return -1;
  }
  const int port = (frame[4] << 8 | frame[5]) - 1;
  return port < ports ? port : -1;
}

absl::StatusOr<std::unique_ptr<Switch>> Switch::Open(const std::vector<SwitchPort>& specs,
                                                     uint64_t seed, const Clock& clock) {
  std::vector<Port> ports;
  std::vector<LinkSpec> links;
  for (const SwitchPort& spec : specs) {
    Port port;
    port.name = spec.name;
    ASSIGN_OR_RETURN(port.tap, OpenTap(spec.network_namespace, "eth0"));
    ports.push_back(std::move(port));
    links.push_back(spec.link);
  }
  return std::unique_ptr<Switch>(new Switch(std::move(ports), links, seed, clock));
}

Switch::Switch(std::vector<Port> ports, const std::vector<LinkSpec>& links, uint64_t seed,
               const Clock& clock)
    : clock_(clock),
      model_(links, seed),
      ports_(std::move(ports)),
      scratch_(pool_.Take(PacketPool::kLargeBytes)) {}

void Switch::Run(int control_fd, int reply_fd) {
  const int ports = static_cast<int>(ports_.size());
  while (true) {
    const int64_t now_ns = clock_.NowNs();
    for (int port = 0; port < ports; ++port) Deliver(port, now_ns);
    for (int port = 0; port < ports; ++port) Receive(port, now_ns);
    bool control_ready = false;
    Wait(control_fd, now_ns, control_ready);
    if (control_ready && !ReadControl(control_fd, reply_fd)) return;
  }
}

// Moves what has arrived into the queue, and what is due from the queue to the node.
void Switch::Deliver(int to, int64_t now_ns) {
  Port& port = ports_[to];
  while (!port.flights.empty() && port.flights.front().arrival.last_bit_ns <= now_ns) {
    std::pop_heap(port.flights.begin(), port.flights.end(), ArrivesLater<Flight, Flight>);
    Flight flight = std::move(port.flights.back());
    port.flights.pop_back();
    const std::optional<int64_t> due_ns = model_.Enqueue(to, flight.arrival, flight.wire_bytes);
    if (due_ns.has_value()) {
      port.leaving.push_back({.due_ns = *due_ns, .packet = std::move(flight.packet)});
    } else {
      ++port.dropped_frames;
      Release(std::move(flight.packet));
    }
  }
  while (!port.leaving.empty() && port.leaving.front().due_ns <= now_ns) {
    Packet packet = std::move(port.leaving.front().packet);
    port.leaving.pop_front();
    // A device that is down takes nothing: lost, as on a wire without a peer.
    if (write(port.tap.get(), packet.data.get(), packet.size_bytes) < 0) {
      ++port.dropped_frames;
    } else {
      port.received_bytes += static_cast<int64_t>(packet.size_bytes);
    }
    Release(std::move(packet));
  }
}

void Switch::Receive(int from, int64_t now_ns) {
  Port& port = ports_[from];
  port.is_empty = false;
  for (int count = 0; count < kPacketsARound; ++count) {
    if (model_.free_at_ns(from) > now_ns + kLookAheadNs) return;
    const ssize_t bytes = read(port.tap.get(), scratch_.data.get(), scratch_.capacity_bytes);
    if (bytes < static_cast<ssize_t>(kVirtioHeaderBytes)) {
      port.is_empty = true;
      model_.SawEmpty(from, now_ns);
      return;
    }
    port.sent_bytes += bytes;
    scratch_.size_bytes = static_cast<size_t>(bytes);
    Packet packet;
    if (scratch_.size_bytes <= PacketPool::kSmallBytes) {
      packet = Copy(scratch_.bytes());
    } else {
      held_bytes_ += bytes;
      packet = std::exchange(scratch_, pool_.Take(PacketPool::kLargeBytes));
    }
    const FrameInfo info = DescribeFrame(packet.bytes());
    const LinkModel::Arrival arrival = model_.Transmit(from, info.wire_bytes, now_ns);
    Forward(from, arrival, info, std::move(packet));
  }
}

void Switch::Forward(int from, const LinkModel::Arrival& arrival, const FrameInfo& info,
                     Packet packet) {
  const int ports = static_cast<int>(ports_.size());
  const int only = PortOf(packet.bytes().subspan(kVirtioHeaderBytes), ports);
  for (int to = 0; to < ports; ++to) {
    if (to == from || (only >= 0 && only != to)) continue;
    if (!model_.Passes(from, to) || held_bytes_ > kHeldBytesMax) {
      ++ports_[to].dropped_frames;
    } else if (model_.MayLose(from, to)) {
      ForwardWithLoss(from, to, arrival, info, packet.bytes());
    } else if (only < 0) {
      TakeOff(to, arrival, info.wire_bytes, Copy(packet.bytes()));
    } else {
      TakeOff(to, arrival, info.wire_bytes, std::move(packet));
      return;
    }
  }
  Release(std::move(packet));
}

// The frames between two lost ones travel on as a smaller super-frame.
void Switch::ForwardWithLoss(int from, int to, const LinkModel::Arrival& arrival,
                             const FrameInfo& info, std::span<const uint8_t> packet) {
  for (int64_t first = 0; first < info.segments;) {
    const int64_t left = info.segments - first;
    const int64_t passed = model_.SegmentsBeforeLoss(from, to, left);
    if (passed < left) ++ports_[to].lost_frames;
    if (passed == info.segments) {
      TakeOff(to, arrival, info.wire_bytes, Copy(packet));
    } else if (passed > 0) {
      const std::vector<uint8_t> part = CutSegments(packet, info, first, passed);
      if (!part.empty()) TakeOff(to, arrival, DescribeFrame(part).wire_bytes, Copy(part));
    }
    first += passed + 1;
  }
}

void Switch::TakeOff(int to, const LinkModel::Arrival& arrival, int64_t wire_bytes, Packet packet) {
  std::vector<Flight>& flights = ports_[to].flights;
  flights.push_back({.arrival = arrival,
                     .order = order_++,
                     .wire_bytes = wire_bytes,
                     .packet = std::move(packet)});
  std::push_heap(flights.begin(), flights.end(), ArrivesLater<Flight, Flight>);
}

Packet Switch::Copy(std::span<const uint8_t> bytes) {
  Packet packet = pool_.Take(bytes.size());
  std::memcpy(packet.data.get(), bytes.data(), bytes.size());
  held_bytes_ += static_cast<int64_t>(bytes.size());
  return packet;
}

void Switch::Release(Packet packet) {
  held_bytes_ -= static_cast<int64_t>(packet.size_bytes);
  pool_.GiveBack(std::move(packet));
}

int64_t Switch::NextEventNs(int64_t now_ns) const {
  int64_t next_ns = now_ns + kIdleWaitNs;
  for (int index = 0; index < static_cast<int>(ports_.size()); ++index) {
    const Port& port = ports_[index];
    if (!port.flights.empty()) {
      next_ns = std::min(next_ns, port.flights.front().arrival.last_bit_ns);
    }
    if (!port.leaving.empty()) next_ns = std::min(next_ns, port.leaving.front().due_ns);
    if (!port.is_empty) next_ns = std::min(next_ns, model_.free_at_ns(index) - kLookAheadNs);
  }
  return next_ns;
}

// Until the next event, a packet at a device that was seen empty, or a command.
void Switch::Wait(int control_fd, int64_t now_ns, bool& control_ready) {
  waits_.clear();
  waits_.push_back({.fd = control_fd, .events = POLLIN, .revents = 0});
  for (const Port& port : ports_) {
    waits_.push_back({.fd = port.is_empty ? port.tap.get() : -1, .events = POLLIN, .revents = 0});
  }
  const int64_t wait_ns = std::max<int64_t>(0, NextEventNs(now_ns) - clock_.NowNs());
  const timespec timeout = {.tv_sec = wait_ns / 1'000'000'000, .tv_nsec = wait_ns % 1'000'000'000};
  const int ready = ppoll(waits_.data(), waits_.size(), &timeout, nullptr);
  control_ready = ready > 0 && waits_[0].revents != 0;
  // What is there now came while we slept: nothing waited until about now.
  const int64_t woken_ns = clock_.NowNs();
  for (int port = 0; port < static_cast<int>(ports_.size()); ++port) {
    if (ports_[port].is_empty) model_.SawEmpty(port, woken_ns);
  }
}

bool Switch::ReadControl(int control_fd, int reply_fd) {
  std::array<char, 512> part;
  const ssize_t bytes = read(control_fd, part.data(), part.size());
  if (bytes <= 0) return bytes < 0 && (errno == EINTR || errno == EAGAIN);
  control_text_.append(part.data(), static_cast<size_t>(bytes));
  size_t end = 0;
  while ((end = control_text_.find('\n')) != std::string::npos) {
    const std::string reply = Obey(control_text_.substr(0, end)) + "\n";
    control_text_.erase(0, end + 1);
    if (write(reply_fd, reply.data(), reply.size()) < 0) return false;
  }
  return control_text_.size() <= kControlBytesMax;
}

int Switch::FindPort(const std::string& name) const {
  for (size_t port = 0; port < ports_.size(); ++port) {
    if (ports_[port].name == name) return static_cast<int>(port);
  }
  return -1;
}

std::string Switch::Obey(const std::string& command) {
  const std::vector<std::string> words = absl::StrSplit(command, ' ');
  if (command == "stats") {
    std::string reply = "ok";
    for (const Port& port : ports_) {
      absl::StrAppend(&reply, " ", port.name, " sent_bytes=", port.sent_bytes,
                      " received_bytes=", port.received_bytes,
                      " dropped_frames=", port.dropped_frames, " lost_frames=", port.lost_frames,
                      ";");
    }
    return reply;
  }
  const int port = words.size() < 2 ? -1 : FindPort(words[1]);
  if (words.size() >= 2 && port < 0) return absl::StrCat("error: no port is called ", words[1]);
  if (words.size() == 2 && (words[0] == "cut" || words[0] == "restore")) {
    model_.SetCut(port, words[0] == "cut");
    return "ok";
  }
  if (words.size() == 3 && words[0] == "loss") {
    absl::string_view number = words[2];
    double percent = 0;
    if (!absl::ConsumeSuffix(&number, "%") || !absl::SimpleAtod(number, &percent) ||
        !(percent >= 0 && percent <= 100)) {
      return absl::StrCat("error: the loss '", words[2], "' is not 0% to 100%");
    }
    model_.SetLoss(port, percent / 100);
    return "ok";
  }
  return absl::StrCat("error: '", command,
                      "' is not cut NAME, restore NAME, loss NAME 5% or stats");
}

}  // namespace crossover::lab
