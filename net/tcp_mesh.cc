#include "net/tcp_mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "net/one_line.h"
#include "net/tcp_handshake.h"

namespace crossover::net {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kFirstRetryNs = 20'000'000;
constexpr int64_t kLastRetryNs = kNsPerSecond;
constexpr int64_t kCancelCheckNs = 100'000'000;
// Connections that have not said who they are, beyond one for each rank.
constexpr size_t kStrangersMax = 64;

// A greeting on its way in.
struct GreetingReader {
  GreetingBytes bytes{};
  size_t received = 0;

  enum class Result { kMore, kComplete, kEnd };
  Result ReadSome(int fd) {
    const ssize_t n = recv(fd, bytes.data() + received, bytes.size() - received, 0);
    if (n < 0) {
      return errno == EAGAIN || errno == EINTR ? Result::kMore : Result::kEnd;
    }
    if (n == 0) return Result::kEnd;
    received += static_cast<size_t>(n);
    return received == bytes.size() ? Result::kComplete : Result::kMore;
  }
};

// On a new connection: its empty send buffer takes a greeting whole.
bool SendWhole(int fd, const void* data, size_t size) {
  return send(fd, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

class MeshBuilder {
 public:
  MeshBuilder(const TcpListener& listener, const TcpEndpointOptions& options, const Clock& clock)
      : listener_(listener),
        options_(options),
        clock_(clock),
        rank_(options.identity.rank),
        world_size_(static_cast<int>(options.addresses.size())),
        missing_(static_cast<int>(kChannels.size()) * (world_size_ - 1)),
        connected_(options.addresses.size()) {
    for (int peer = rank_ + 1; peer < world_size_; ++peer) {
      for (const Channel channel : kChannels) {
        outgoing_.push_back(Outgoing{.peer = peer, .channel = channel});
      }
    }
  }

  absl::StatusOr<std::vector<PeerConnections>> Run() {
    const int64_t deadline_ns =
        clock_.NowNs() + static_cast<int64_t>(options_.connect_s * kNsPerSecond);
    while (missing_ > 0) {
      const int64_t now_ns = clock_.NowNs();
      if (options_.cancelled) RETURN_IF_ERROR(options_.cancelled());
      if (now_ns >= deadline_ns) return MissingError();
      for (Outgoing& out : outgoing_) {
        if (out.state == Outgoing::kIdle && now_ns >= out.retry_ns) Connect(out, now_ns);
      }
      DropSilent(now_ns);
      RETURN_IF_ERROR(PollOnce(std::min(deadline_ns, NextTimerNs(now_ns)) - now_ns));
    }
    return std::move(connected_);
  }

 private:
  // A connection that we make, to a higher rank.
  struct Outgoing {
    enum State { kIdle, kConnecting, kAwaitingAnswer, kDone };
    int peer = 0;
    Channel channel = Channel::kData;
    State state = kIdle;
    UniqueFd fd{};
    GreetingReader reader{};
    int64_t retry_ns = std::numeric_limits<int64_t>::min();
    int64_t retry_interval_ns = kFirstRetryNs;
    std::string last_error = "not tried";
  };
  // A connection that somebody made to us and has not explained yet.
  struct Incoming {
    UniqueFd fd;
    std::string from;
    int64_t deadline_ns = 0;
    GreetingReader reader{};
  };

  std::string Name(int peer) const {
    return absl::StrCat("rank ", peer, " at ", options_.addresses[peer]);
  }

  absl::Status MissingError() const {
    std::vector<std::string> parts;
    int named = rank_;  // each is named once
    for (const Outgoing& out : outgoing_) {
      if (out.state == Outgoing::kDone || out.peer == named) continue;
      parts.push_back(absl::StrCat(Name(out.peer), " (", out.last_error, ")"));
      named = out.peer;
    }
    for (int peer = 0; peer < rank_; ++peer) {
      if (connected_[peer].data.valid() && connected_[peer].control.valid()) continue;
      parts.push_back(absl::StrCat(Name(peer), " (it has not connected)"));
    }
    return absl::DeadlineExceededError(absl::StrCat("rank ", rank_, " has no connection with ",
                                                    absl::StrJoin(parts, ", "), " after ",
                                                    options_.connect_s, " s"));
  }

  void Connect(Outgoing& out, int64_t now_ns) {
    absl::StatusOr<UniqueFd> fd =
        StartConnection(options_.addresses[out.peer], listener_.congestion_control());
    if (!fd.ok()) return Retry(out, std::string(fd.status().message()), now_ns);
    out.fd = std::move(*fd);
    out.reader = GreetingReader{};
    out.state = Outgoing::kConnecting;
    out.last_error = "no answer";
  }

  void Retry(Outgoing& out, std::string error, int64_t now_ns) {
    out.fd.Reset();
    out.state = Outgoing::kIdle;
    out.last_error = std::move(error);
    out.retry_ns = now_ns + out.retry_interval_ns;
    out.retry_interval_ns = std::min(2 * out.retry_interval_ns, kLastRetryNs);
  }

  void DropSilent(int64_t now_ns) {
    std::erase_if(incoming_, [&](Incoming& in) {
      if (now_ns < in.deadline_ns) return false;
      SendWhole(in.fd.get(), kStrangerLine.data(), kStrangerLine.size());
      return true;
    });
  }

  int64_t NextTimerNs(int64_t now_ns) const {
    int64_t next_ns =
        options_.cancelled ? now_ns + kCancelCheckNs : std::numeric_limits<int64_t>::max();
    for (const Outgoing& out : outgoing_) {
      if (out.state == Outgoing::kIdle) next_ns = std::min(next_ns, out.retry_ns);
    }
    for (const Incoming& in : incoming_) next_ns = std::min(next_ns, in.deadline_ns);
    return next_ns;
  }

  // Waits for something to happen and deals with it. poll's entries: the listener,
  // then outgoing_, then incoming_, then connected_ (watched for loss only). A
  // negative descriptor is one that poll passes over.
  absl::Status PollOnce(int64_t wait_ns) {
    std::vector<pollfd> fds;
    const bool accept = incoming_.size() < kStrangersMax + static_cast<size_t>(world_size_);
    fds.push_back({accept ? listener_.fd() : -1, POLLIN, 0});
    for (const Outgoing& out : outgoing_) {
      const short events = out.state == Outgoing::kConnecting ? POLLOUT : POLLIN;
      fds.push_back({out.fd.get(), events, 0});
    }
    for (const Incoming& in : incoming_) fds.push_back({in.fd.get(), POLLIN, 0});
    for (const PeerConnections& connections : connected_) {
      fds.push_back({connections.data.get(), POLLRDHUP, 0});
      fds.push_back({connections.control.get(), POLLRDHUP, 0});
    }

    if (poll(fds.data(), fds.size(), PollTimeoutMs(wait_ns)) < 0 && errno != EINTR) {
      return absl::InternalError(absl::StrCat("poll: ", ErrnoText(errno)));
    }
    const auto* entry = fds.data() + 1;
    for (Outgoing& out : outgoing_) {
      if ((entry++)->revents != 0) RETURN_IF_ERROR(Advance(out));
    }
    std::vector<Incoming> kept;
    for (Incoming& in : incoming_) {
      bool done = false;
      if ((entry++)->revents != 0) {
        ASSIGN_OR_RETURN(done, Advance(in));
      }
      if (!done) kept.push_back(std::move(in));
    }
    incoming_ = std::move(kept);
    for (int peer = 0; peer < world_size_; ++peer) {
      const bool lost = entry[0].revents != 0 || entry[1].revents != 0;
      entry += 2;
      if (lost) {
        return absl::UnavailableError(
            absl::StrCat(Name(peer), " closed the connection while the others were being made"));
      }
    }
    return fds[0].revents != 0 ? AcceptWaiting() : absl::OkStatus();
  }

  absl::Status AcceptWaiting() {
    const int64_t deadline_ns =
        clock_.NowNs() + static_cast<int64_t>(options_.handshake_s * kNsPerSecond);
    while (incoming_.size() < kStrangersMax + static_cast<size_t>(world_size_)) {
      std::string from;
      UniqueFd fd = AcceptConnection(listener_.fd(), from);
      if (!fd.valid()) {
        // Without a descriptor poll would report the same connection for ever.
        if (errno != EMFILE && errno != ENFILE) return absl::OkStatus();
        return absl::ResourceExhaustedError(
            absl::StrCat("rank ", rank_, " cannot accept a connection: ", ErrnoText(errno)));
      }
      incoming_.push_back({std::move(fd), std::move(from), deadline_ns});
    }
    return absl::OkStatus();
  }

  absl::Status Advance(Outgoing& out) {
    const int64_t now_ns = clock_.NowNs();
    if (out.state == Outgoing::kConnecting) {
      if (const int error = ConnectionError(out.fd.get()); error != 0) {
        Retry(out, ErrnoText(error), now_ns);
        return absl::OkStatus();
      }
      const GreetingBytes greeting =
          EncodeGreeting(MakeGreeting(options_.identity, world_size_, out.channel));
      if (!SendWhole(out.fd.get(), greeting.data(), greeting.size())) {
        Retry(out, "the greeting could not be sent", now_ns);
        return absl::OkStatus();
      }
      out.state = Outgoing::kAwaitingAnswer;
      return absl::OkStatus();
    }
    const GreetingReader::Result result = out.reader.ReadSome(out.fd.get());
    if (!MayBeGreeting(std::span(out.reader.bytes).first(out.reader.received))) {
      return absl::FailedPreconditionError(
          absl::StrCat("somebody answers at the address of ", Name(out.peer),
                       " who is no rank of a Crossover job: check the address"));
    }
    if (result == GreetingReader::Result::kEnd) {
      Retry(out, "it closed the connection during the handshake", now_ns);
    } else if (result == GreetingReader::Result::kComplete) {
      RETURN_IF_ERROR(CheckAnswer(out));
      out.state = Outgoing::kDone;
      Keep(out.peer, out.channel, std::move(out.fd));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAnswer(const Outgoing& out) const {
    const absl::StatusOr<Greeting> answer = DecodeGreeting(out.reader.bytes);
    if (!answer.ok()) return Annotate(answer.status(), absl::StrCat(Name(out.peer), ": "));
    if (answer->status != 0) {
      return absl::PermissionDeniedError(
          absl::StrCat(Name(out.peer), " refused this rank ", rank_, ": ", OneLine(answer->text)));
    }
    RETURN_IF_ERROR(CheckGreeting(options_.identity, world_size_, *answer, Name(out.peer)));
    if (answer->rank != static_cast<uint32_t>(out.peer)) {
      return absl::FailedPreconditionError(
          absl::StrCat("at the address of ", Name(out.peer), " rank ", answer->rank, " answers"));
    }
    return absl::OkStatus();
  }

  // True when the connection needs no more attention: accepted, refused or gone.
  absl::StatusOr<bool> Advance(Incoming& in) {
    const GreetingReader::Result result = in.reader.ReadSome(in.fd.get());
    if (!MayBeGreeting(std::span(in.reader.bytes).first(in.reader.received))) {
      SendWhole(in.fd.get(), kStrangerLine.data(), kStrangerLine.size());
      return true;
    }
    if (result != GreetingReader::Result::kComplete) return result == GreetingReader::Result::kEnd;
    const absl::StatusOr<Greeting> greeting = CheckIncoming(in);
    const Greeting answer = greeting.ok()
                                ? MakeGreeting(options_.identity, world_size_, greeting->channel)
                                : MakeRefusal(greeting.status());
    const GreetingBytes bytes = EncodeGreeting(answer);
    if (SendWhole(in.fd.get(), bytes.data(), bytes.size()) && greeting.ok()) {
      Keep(static_cast<int>(greeting->rank), greeting->channel, std::move(in.fd));
    }
    return true;
  }

  absl::StatusOr<Greeting> CheckIncoming(const Incoming& in) {
    ASSIGN_OR_RETURN(Greeting greeting, DecodeGreeting(in.reader.bytes));
    const std::string who = absl::StrCat("the caller at ", in.from);
    RETURN_IF_ERROR(CheckGreeting(options_.identity, world_size_, greeting, who));
    const int peer = static_cast<int>(greeting.rank);
    if (peer > rank_) {
      return absl::InvalidArgumentError(absl::StrCat(who, " is rank ", peer, ", but rank ", rank_,
                                                     " connects to higher ranks by itself"));
    }
    if (connected_[peer].Of(greeting.channel).valid()) {
      return absl::AlreadyExistsError(absl::StrCat("rank ", peer, " is connected to rank ", rank_,
                                                   " already; ", who, " is a second one"));
    }
    return greeting;
  }

  void Keep(int peer, Channel channel, UniqueFd fd) {
    SetNoDelay(fd.get());
    connected_[peer].Of(channel) = std::move(fd);
    --missing_;
  }

  const TcpListener& listener_;
  const TcpEndpointOptions& options_;
  const Clock& clock_;
  const int rank_;
  const int world_size_;
  int missing_;
  std::vector<PeerConnections> connected_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
};

}  // namespace

absl::StatusOr<std::vector<PeerConnections>> ConnectMesh(const TcpListener& listener,
                                                         const TcpEndpointOptions& options,
                                                         const Clock& clock) {
  return MeshBuilder(listener, options, clock).Run();
}

}  // namespace crossover::net
