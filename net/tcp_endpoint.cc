#include "net/tcp_endpoint.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/check.h"
#include "core/status.h"
#include "net/message.h"
#include "net/tcp_connection.h"
#include "net/tcp_handshake.h"
#include "net/tcp_mesh.h"

namespace crossover::net {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
// What a rank that has failed spends at most on telling its peers why.
constexpr int64_t kFarewellNs = 500'000'000;

class TcpEndpoint final : public Endpoint {
 public:
  TcpEndpoint(int rank, double silence_s, UniqueFd wake, const Clock& clock)
      : rank_(rank),
        silence_s_(silence_s),
        silence_ns_(static_cast<int64_t>(silence_s * kNsPerSecond)),
        wake_(std::move(wake)),
        clock_(clock) {}

  // By rank, null for the own one.
  void AddConnection(std::unique_ptr<TcpConnection> connection) {
    peers_.push_back(Peer{std::move(connection)});
  }

  int rank() const override { return rank_; }
  int world_size() const override { return static_cast<int>(peers_.size()); }

  absl::Status Exchange(const MessageTag& tag, std::span<const SendOp> sends,
                        std::span<const ReceiveOp> receives) override {
    CheckExchangeArguments(rank_, world_size(), sends, receives);
    RETURN_IF_ERROR(failure_);
    if (const absl::Status aborted = aborted_status(); !aborted.ok()) return Fail(aborted, "");
    const int64_t now_ns = clock_.NowNs();
    active_.clear();
    for (const SendOp& op : sends) {
      const MessageHeader header{.farewell = false, .tag = tag, .bytes = op.data.size()};
      Activate(op.peer, now_ns).StartSend(header, op.data);
    }
    for (const ReceiveOp& op : receives) Activate(op.peer, now_ns).StartReceive(tag, op.into);
    while (!active_.empty()) {
      bool tried = false;
      for (Peer* peer : active_) {
        if (const absl::Status status = Attempt(*peer->connection, tried); !status.ok()) {
          return Fail(status, peer->connection->farewell());
        }
      }
      std::erase_if(active_, [](const Peer* peer) {
        return !peer->connection->sending() && !peer->connection->receiving();
      });
      if (tried || active_.empty()) continue;
      if (const absl::Status status = Wait(); !status.ok()) return Fail(status, "");
    }
    return absl::OkStatus();
  }

  void Abort(const absl::Status& why) override {
    CROSSOVER_CHECK(!why.ok(), "an abort has a reason");
    {
      const std::lock_guard lock(mutex_);
      // A copy that shares nothing with the caller's: Abseil counts references where TSan
      // cannot see it.
      if (aborted_.ok()) aborted_ = absl::Status(why.code(), why.message());
    }
    const uint64_t one = 1;
    // The only failure possible is a full counter, and then the descriptor is readable.
    (void)!write(wake_.get(), &one, sizeof(one));
  }

 private:
  struct Peer {
    std::unique_ptr<TcpConnection> connection;
    int64_t progress_ns = 0;  // when bytes last moved in this Exchange
  };

  absl::Status aborted_status() const {
    const std::lock_guard lock(mutex_);
    return aborted_;
  }

  TcpConnection& Activate(int index, int64_t now_ns) {
    Peer& peer = peers_[index];
    peer.progress_ns = now_ns;
    if (std::find(active_.begin(), active_.end(), &peer) == active_.end()) {
      active_.push_back(&peer);
    }
    return *peer.connection;
  }

  static absl::Status Attempt(TcpConnection& connection, bool& tried) {
    if (connection.can_send()) {
      tried = true;
      RETURN_IF_ERROR(connection.SendSome());
    }
    if (connection.can_receive()) {
      tried = true;
      RETURN_IF_ERROR(connection.ReceiveSome());
    }
    return absl::OkStatus();
  }

  // Blocks until a socket of active_ is ready. Errors: an abort, silence, a lost peer
  // to whom bytes are owed (SendSome finds out).
  absl::Status Wait() {
    const int64_t now_ns = clock_.NowNs();
    int64_t oldest_ns = now_ns;
    for (Peer* peer : active_) {
      if (peer->connection->TakeMoved()) peer->progress_ns = now_ns;
      oldest_ns = std::min(oldest_ns, peer->progress_ns);
    }
    const int64_t left_ns = oldest_ns + silence_ns_ - now_ns;
    if (left_ns <= 0) return SilenceError(now_ns);
    polls_.clear();
    polls_.push_back({wake_.get(), POLLIN, 0});
    for (const Peer* peer : active_) {
      polls_.push_back({peer->connection->fd(), peer->connection->poll_events(), 0});
    }
    if (poll(polls_.data(), polls_.size(), PollTimeoutMs(left_ns)) < 0 && errno != EINTR) {
      return absl::InternalError(absl::StrCat("poll: ", ErrnoText(errno)));
    }
    if (polls_[0].revents != 0) return aborted_status();
    for (size_t i = 0; i < active_.size(); ++i) {
      active_[i]->connection->SetReady(polls_[i + 1].revents);
    }
    return absl::OkStatus();
  }

  absl::Status SilenceError(int64_t now_ns) const {
    std::vector<std::string> names;
    for (const Peer* peer : active_) {
      if (now_ns - peer->progress_ns >= silence_ns_) names.push_back(peer->connection->peer_name());
    }
    return absl::DeadlineExceededError(
        absl::StrCat("no bytes to or from ", absl::StrJoin(names, ", "), " for ", silence_s_,
                     " s: stopped, unreachable, or waiting for another rank"));
  }

  // Keeps the first failure and tells the peers: `heard` if a peer told us, else our own.
  absl::Status Fail(const absl::Status& status, const std::string& heard) {
    failure_ = status;
    SayFarewell(heard.empty() ? FarewellText(rank_, status.message()) : heard);
    return failure_;
  }

  // Ends every connection in good order: what was begun is finished, then the reason
  // follows. Input is thrown away meanwhile, since closing a socket with unread
  // input would make the kernel drop what we have sent.
  void SayFarewell(const std::string& text) {
    const int64_t deadline_ns = clock_.NowNs() + kFarewellNs;
    const MessageHeader header{.farewell = true, .tag = {}, .bytes = text.size()};
    struct Leaving {
      TcpConnection* connection;
      bool said = false;    // the farewell has been queued
      bool closed = false;  // and sent, and our side is closed
    };
    std::vector<Leaving> leaving;
    for (Peer& peer : peers_) {
      if (peer.connection != nullptr) leaving.push_back({peer.connection.get()});
    }
    const auto advance = [&](Leaving& peer) {  // true when this connection is done
      TcpConnection& connection = *peer.connection;
      while (!peer.closed) {
        if (!connection.sending() && peer.said) {
          connection.CloseSending();
          peer.closed = true;
        } else if (!connection.sending()) {
          connection.StartSend(header, std::as_bytes(std::span(text)));
          peer.said = true;
        } else if (!connection.TrySend()) {
          return true;
        } else if (!connection.can_send()) {
          break;
        }
      }
      if (connection.DiscardSome()) return false;
      connection.CloseSending();
      return true;
    };
    while (true) {
      std::erase_if(leaving, advance);
      const int64_t left_ns = deadline_ns - clock_.NowNs();
      if (leaving.empty() || left_ns <= 0) return;
      polls_.clear();
      for (const Leaving& peer : leaving) {
        const short events = peer.closed ? POLLIN : POLLIN | POLLOUT;
        polls_.push_back({peer.connection->fd(), events, 0});
      }
      poll(polls_.data(), polls_.size(), PollTimeoutMs(left_ns));
      for (size_t i = 0; i < leaving.size(); ++i) {
        leaving[i].connection->SetReady(polls_[i].revents);
      }
    }
  }

  const int rank_;
  const double silence_s_;
  const int64_t silence_ns_;
  const UniqueFd wake_;  // an eventfd: readable once aborted
  const Clock& clock_;
  std::vector<Peer> peers_;
  std::vector<Peer*> active_;  // with something to move in the present Exchange
  std::vector<pollfd> polls_;
  absl::Status failure_;
  mutable std::mutex mutex_;
  absl::Status aborted_;  // guarded by mutex_
};

absl::Status CheckOptions(const TcpEndpointOptions& options) {
  const int world_size = static_cast<int>(options.addresses.size());
  if (options.identity.rank < 0 || options.identity.rank >= world_size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", options.identity.rank, " of ",
                                                   world_size, " addresses: expected 0 to ",
                                                   world_size - 1));
  }
  if (options.identity.token.size() > kGreetingTextBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the token is ", options.identity.token.size(),
                                                   " characters long; at most ",
                                                   kGreetingTextBytesMax, " are allowed"));
  }
  if (!(options.connect_s > 0) || !(options.handshake_s > 0) || !(options.silence_s > 0)) {
    return absl::InvalidArgumentError("connect_s, handshake_s and silence_s must be positive");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Listen(const std::string& host,
                                                                 int port) {
  ASSIGN_OR_RETURN(UniqueFd fd, ListenOn(host, port));
  std::string address = OwnAddress(fd.get());
  return std::unique_ptr<TcpListener>(new TcpListener(std::move(fd), std::move(address)));
}

absl::StatusOr<std::unique_ptr<Endpoint>> ConnectTcp(std::unique_ptr<TcpListener> listener,
                                                     const TcpEndpointOptions& options,
                                                     const Clock& clock) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(std::vector<UniqueFd> fds, ConnectMesh(listener->fd(), options, clock));
  UniqueFd wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.valid()) return absl::InternalError(absl::StrCat("eventfd: ", ErrnoText(errno)));
  const int rank = options.identity.rank;
  auto endpoint = std::make_unique<TcpEndpoint>(rank, options.silence_s, std::move(wake), clock);
  for (size_t peer = 0; peer < fds.size(); ++peer) {
    std::unique_ptr<TcpConnection> connection;
    if (fds[peer].valid()) {
      connection = std::make_unique<TcpConnection>(
          std::move(fds[peer]), rank, static_cast<int>(peer),
          absl::StrCat("rank ", peer, " at ", options.addresses[peer]), clock);
    }
    endpoint->AddConnection(std::move(connection));
  }
  return endpoint;
}

}  // namespace crossover::net
