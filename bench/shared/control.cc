#include "bench/shared/control.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace crossover::bench {
namespace {

constexpr double kNsPerS = 1e9;
constexpr uint64_t kTextBytesMax = 64 << 20;
// As iperf3 and what copies a file use: large enough that system calls do not count.
constexpr int64_t kStreamChunkBytes = 256 << 10;

std::span<const std::byte> BytesOfText(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

int64_t Control::DeadlineNs() const {
  return clock_.NowNs() + static_cast<int64_t>(deadline_s_ * kNsPerS);
}

absl::Status Control::WaitFor(std::span<const net::Interest> interests, int64_t deadline_ns) {
  const int64_t left_ns = deadline_ns - clock_.NowNs();
  if (left_ns > 0) return endpoint_.Wait(interests, left_ns);
  std::string peers;
  for (const net::Interest& interest : interests) {
    absl::StrAppend(&peers, peers.empty() ? "" : ", ", interest.peer);
  }
  return absl::DeadlineExceededError(absl::StrCat("rank ", rank(), " heard nothing from rank ",
                                                  peers, " for ", deadline_s_,
                                                  " s while they agreed on the next measurement"));
}

absl::Status Control::Send(int peer, std::span<const std::byte> data) {
  const net::Interest interest{peer, true, false};
  int64_t deadline_ns = DeadlineNs();
  while (!data.empty()) {
    ASSIGN_OR_RETURN(const size_t sent, endpoint_.TrySend(peer, data, net::SendMode::kCopy));
    data = data.subspan(sent);
    if (sent > 0) deadline_ns = DeadlineNs();
    if (sent == 0) RETURN_IF_ERROR(WaitFor({&interest, 1}, deadline_ns));
  }
  return absl::OkStatus();
}

absl::Status Control::Receive(int peer, std::span<std::byte> into) {
  const net::Interest interest{peer, false, true};
  int64_t deadline_ns = DeadlineNs();
  while (!into.empty()) {
    ASSIGN_OR_RETURN(const size_t got, endpoint_.TryReceive(peer, into));
    into = into.subspan(got);
    if (got > 0) deadline_ns = DeadlineNs();
    if (got == 0) RETURN_IF_ERROR(WaitFor({&interest, 1}, deadline_ns));
  }
  return absl::OkStatus();
}

absl::Status Control::SendText(int peer, const std::string& text) {
  const uint64_t length = text.size();
  RETURN_IF_ERROR(Send(peer, std::as_bytes(std::span(&length, 1))));
  return Send(peer, BytesOfText(text));
}

absl::StatusOr<std::string> Control::ReceiveText(int peer) {
  uint64_t length = 0;
  RETURN_IF_ERROR(Receive(peer, std::as_writable_bytes(std::span(&length, 1))));
  if (length > kTextBytesMax) {
    return absl::InternalError(absl::StrCat("rank ", peer, " said ", length, " bytes at once"));
  }
  std::string text(length, '\0');
  RETURN_IF_ERROR(Receive(peer, std::as_writable_bytes(std::span(text))));
  return text;
}

// Rank 0 collects and hands out.
absl::StatusOr<std::vector<std::string>> Control::Exchange(const std::string& mine) {
  std::vector<std::string> all(world_size());
  all[rank()] = mine;
  if (rank() != 0) {
    RETURN_IF_ERROR(SendText(0, mine));
    for (std::string& text : all) {
      ASSIGN_OR_RETURN(text, ReceiveText(0));
    }
    return all;
  }
  for (int peer = 1; peer < world_size(); ++peer) {
    ASSIGN_OR_RETURN(all[peer], ReceiveText(peer));
  }
  std::string joined;
  for (const std::string& text : all) {
    const uint64_t length = text.size();
    joined.append(reinterpret_cast<const char*>(&length), sizeof length);
    joined.append(text);
  }
  for (int peer = 1; peer < world_size(); ++peer) {
    RETURN_IF_ERROR(Send(peer, BytesOfText(joined)));
  }
  return all;
}

absl::StatusOr<std::vector<std::vector<double>>> Control::Exchange(std::span<const double> mine) {
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size_bytes());
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, Exchange(bytes));
  std::vector<std::vector<double>> all;
  for (const std::string& text : texts) {
    if (text.size() != bytes.size()) {
      return absl::InternalError("the ranks of this test measured different things");
    }
    all.emplace_back(mine.size());
    std::memcpy(all.back().data(), text.data(), text.size());
  }
  return all;
}

absl::StatusOr<double> Control::Max(double mine) {
  ASSIGN_OR_RETURN(const auto all, Exchange(std::span<const double>(&mine, 1)));
  double max = mine;
  for (const std::vector<double>& one : all) max = std::max(max, one[0]);
  return max;
}

absl::Status Control::Barrier() { return Exchange(std::string()).status(); }

absl::StatusOr<double> Control::Stream(int to, int from, int64_t bytes) {
  std::vector<std::byte> out(to >= 0 ? kStreamChunkBytes : 0, std::byte{1});
  std::vector<std::byte> in(from >= 0 ? kStreamChunkBytes : 0);
  int64_t to_send = to >= 0 ? bytes : 0;
  int64_t to_receive = from >= 0 ? bytes : 0;
  const bool receives = from >= 0;
  int64_t counted = 0;
  int64_t counted_from_ns = 0;
  int64_t ended_ns = 0;
  int64_t deadline_ns = DeadlineNs();
  while (to_send > 0 || to_receive > 0) {
    size_t moved = 0;
    if (to_send > 0) {
      const size_t chunk = std::min(to_send, kStreamChunkBytes);
      ASSIGN_OR_RETURN(const size_t sent,
                       endpoint_.TrySend(to, std::span(out).first(chunk), net::SendMode::kCopy));
      to_send -= static_cast<int64_t>(sent);
      moved += sent;
    }
    if (to_receive > 0) {
      const size_t chunk = std::min(to_receive, kStreamChunkBytes);
      ASSIGN_OR_RETURN(const size_t got, endpoint_.TryReceive(from, std::span(in).first(chunk)));
      to_receive -= static_cast<int64_t>(got);
      moved += got;
    }
    const int64_t left = receives ? to_receive : to_send;
    if (counted_from_ns == 0 && left <= bytes - bytes / 5) {
      counted_from_ns = clock_.NowNs();
      counted = left;
    }
    if (left == 0 && ended_ns == 0) ended_ns = clock_.NowNs();
    if (moved > 0) {
      deadline_ns = DeadlineNs();
      continue;
    }
    std::vector<net::Interest> interests;
    if (to_send > 0) interests.push_back({to, true, to == from && to_receive > 0});
    if (to_receive > 0 && (to != from || to_send == 0)) interests.push_back({from, false, true});
    RETURN_IF_ERROR(WaitFor(interests, deadline_ns));
  }
  const int64_t elapsed_ns = ended_ns - counted_from_ns;
  return elapsed_ns > 0 ? static_cast<double>(counted) * kNsPerS / static_cast<double>(elapsed_ns)
                        : 0;
}

}  // namespace crossover::bench
