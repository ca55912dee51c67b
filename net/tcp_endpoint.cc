#include "net/tcp_endpoint.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/check.h"
#include "core/status.h"
#include "net/control_connection.h"
#include "net/splice_sender.h"
#include "net/tcp_handshake.h"
#include "net/tcp_mesh.h"

namespace crossover::net {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
// For the last words of a peer whose data connection is lost.
constexpr int64_t kLastWordsWaitNs = 200'000'000;
// For the peers' machines to take what was sent last.
constexpr int64_t kDeliveryWaitNs = 500'000'000;

bool WouldBlock(int error) { return error == EAGAIN || error == EINTR; }

int Poll(std::vector<pollfd>& fds, int64_t timeout_ns) {
  const int64_t ns = std::max<int64_t>(timeout_ns, 0);
  const timespec timeout{.tv_sec = static_cast<time_t>(ns / kNsPerSecond),
                         .tv_nsec = static_cast<long>(ns % kNsPerSecond)};
  return ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

absl::Status ClosedError(const std::string& name, int error) {
  const std::string detail = error != 0 ? absl::StrCat(" (", ErrnoText(error), ")") : "";
  return absl::UnavailableError(absl::StrCat(name, " closed the connection", detail));
}

class TcpEndpoint final : public Endpoint {
 public:
  // `connections` by rank, without the own rank's.
  TcpEndpoint(const TcpEndpointOptions& options, std::vector<PeerConnections> connections,
              UniqueFd wake, const Clock& clock)
      : Endpoint(options.identity.rank, static_cast<int>(connections.size()), options.splice),
        wake_(std::move(wake)),
        clock_(clock),
        peers_(connections.size()) {
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (static_cast<int>(i) == rank()) continue;
      peers_[i].name = absl::StrCat("rank ", i, " at ", options.addresses[i]);
      peers_[i].data = std::move(connections[i].data);
      peers_[i].control = std::make_unique<ControlConnection>(std::move(connections[i].control));
    }
  }
  ~TcpEndpoint() override;

  absl::StatusOr<size_t> TrySend(int peer, std::span<const std::byte> data, SendMode mode) override;
  absl::StatusOr<size_t> TryReceive(int peer, std::span<std::byte> into) override;
  absl::Status Wait(std::span<const Interest> interests, int64_t timeout_ns) override;
  void Wake() override;
  void Publish(const std::string& note) override;
  void Abort(const absl::Status& why) override;

  void CutConnections();

 private:
  struct Peer {
    std::string name;  // "rank 2 at 10.0.0.2:4000"
    UniqueFd data;
    std::unique_ptr<ControlConnection> control;  // null for the own rank
    SpliceSender splice;
    bool has_left = false;  // it has said goodbye
  };

  Peer& PeerAt(int index) {
    CROSSOVER_CHECK(index != rank(), "a rank has no connection with itself");
    return peers_[index];
  }
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  absl::Status FirstFailure() const;
  // Keeps the first failure, tells the peers, and returns the first. Any thread.
  absl::Status Fail(const absl::Status& why);

  absl::Status ReadControl(int peer, int data_error = 0);
  absl::Status Lost(int peer, int data_error);
  void AddToPoll(std::span<const Interest> interests);
  absl::Status CheckPolled(std::span<const Interest> interests);

  const UniqueFd wake_;  // an eventfd: readable once woken or aborted
  const Clock& clock_;
  std::vector<Peer> peers_;    // by rank
  std::vector<pollfd> polls_;  // wake_, the control connection of each rank, interests
  std::atomic<bool> failed_ = false;
  mutable std::mutex mutex_;
  absl::Status failure_;  // guarded by mutex_; set before failed_
};

TcpEndpoint::~TcpEndpoint() {
  const bool in_order = !has_failed();
  for (Peer& peer : peers_) {
    if (peer.control == nullptr) continue;
    peer.control->SendLast(ControlKind::kGoodbye, "");
    if (in_order) DiscardInput(peer.data.get());  // see CheckDelivery
  }
  const int64_t deadline_ns = clock_.NowNs() + kDeliveryWaitNs;
  while (true) {
    bool delivered = true;
    for (Peer& peer : peers_) {
      if (peer.control == nullptr || peer.has_left) continue;
      const ControlConnection::Delivery delivery = peer.control->CheckDelivery();
      if (delivery == ControlConnection::Delivery::kGone) continue;
      delivered &= delivery == ControlConnection::Delivery::kDone &&
                   (!in_order || UndeliveredBytes(peer.data.get()) == 0);
    }
    if (delivered || clock_.NowNs() >= deadline_ns) return;
    poll(nullptr, 0, 1);
  }
}

absl::StatusOr<size_t> TcpEndpoint::TrySend(int index, std::span<const std::byte> data,
                                            SendMode mode) {
  if (has_failed()) return FirstFailure();
  Peer& peer = PeerAt(index);
  if (peer.has_left) return Lost(index, 0);
  if (data.empty()) return 0;
  ssize_t n;
  if (mode == SendMode::kBorrow && borrows()) {
    n = peer.splice.Send(peer.data.get(), data);
  } else {
    CROSSOVER_CHECK(peer.splice.bytes_in_pipe() == 0, "what was not taken is offered again alike");
    n = send(peer.data.get(), data.data(), data.size(), MSG_NOSIGNAL);
  }
  if (n >= 0) return static_cast<size_t>(n);
  if (WouldBlock(errno)) return 0;
  return Lost(index, errno);
}

absl::StatusOr<size_t> TcpEndpoint::TryReceive(int index, std::span<std::byte> into) {
  if (has_failed()) return FirstFailure();
  if (into.empty()) return 0;
  const ssize_t n = recv(PeerAt(index).data.get(), into.data(), into.size(), 0);
  if (n > 0) return static_cast<size_t>(n);
  if (n == 0) return Lost(index, 0);
  if (WouldBlock(errno)) return 0;
  return Lost(index, errno);
}

absl::Status TcpEndpoint::Wait(std::span<const Interest> interests, int64_t timeout_ns) {
  if (has_failed()) return FirstFailure();
  AddToPoll(interests);
  if (Poll(polls_, timeout_ns) < 0 && errno != EINTR) {
    return Fail(absl::InternalError(absl::StrCat("ppoll: ", ErrnoText(errno))));
  }
  if (polls_[0].revents != 0) {
    uint64_t wakes;
    (void)!read(wake_.get(), &wakes, sizeof(wakes));
  }
  if (has_failed()) return FirstFailure();
  return CheckPolled(interests);
}

// A negative descriptor is one that poll passes over.
void TcpEndpoint::AddToPoll(std::span<const Interest> interests) {
  polls_.clear();
  polls_.push_back({wake_.get(), POLLIN, 0});
  for (const Peer& peer : peers_) {
    const bool listens = peer.control != nullptr && !peer.has_left;
    const short events = listens && peer.control->has_unsent() ? POLLIN | POLLOUT : POLLIN;
    polls_.push_back({listens ? peer.control->fd() : -1, events, 0});
  }
  for (const Interest& interest : interests) {
    short events = 0;
    if (interest.receive) events |= POLLIN;
    // A peer that has closed its side while bytes are owed to it takes no more.
    if (interest.send) events |= POLLOUT | POLLRDHUP;
    polls_.push_back({peers_[interest.peer].data.get(), events, 0});
  }
}

absl::Status TcpEndpoint::CheckPolled(std::span<const Interest> interests) {
  for (int index = 0; index < world_size(); ++index) {
    const short events = polls_[1 + index].revents;
    if ((events & POLLOUT) != 0) peers_[index].control->Flush();
    if ((events & ~POLLOUT) == 0) continue;
    if (const absl::Status status = ReadControl(index); !status.ok()) return Fail(status);
  }
  for (size_t i = 0; i < interests.size(); ++i) {
    const bool ended =
        (polls_[1 + peers_.size() + i].revents & (POLLRDHUP | POLLERR | POLLHUP)) != 0;
    // What came before the end is still received; TryReceive finds the end.
    if (ended && !interests[i].receive) return Lost(interests[i].peer, 0);
  }
  return absl::OkStatus();
}

// Takes in what came on the control connection. `data_error` is the data connection's, for the
// text of a loss.
absl::Status TcpEndpoint::ReadControl(int index, int data_error) {
  Peer& peer = peers_[index];
  absl::StatusOr<ControlConnection::News> news = peer.control->Receive();
  if (!news.ok()) return Annotate(news.status(), absl::StrCat(peer.name, ": "));
  if (news->note.has_value()) KeepNote(index, {std::move(*news->note), clock_.NowNs()});
  if (news->last_words.has_value()) return absl::AbortedError(*news->last_words);
  peer.has_left = news->goodbye;
  if (!news->ended) return absl::OkStatus();
  return ClosedError(peer.name, data_error != 0 ? data_error : news->error);
}

// The peer's data connection has ended; its control connection knows why, or soon will.
absl::Status TcpEndpoint::Lost(int index, int data_error) {
  Peer& peer = peers_[index];
  const int64_t deadline_ns = clock_.NowNs() + kLastWordsWaitNs;
  while (!peer.has_left) {
    if (const absl::Status status = ReadControl(index, data_error); !status.ok()) {
      return Fail(status);
    }
    const int64_t left_ns = deadline_ns - clock_.NowNs();
    if (peer.has_left) break;
    if (left_ns <= 0) return Fail(ClosedError(peer.name, data_error));
    polls_.assign(1, {peer.control->fd(), POLLIN, 0});
    Poll(polls_, left_ns);
  }
  return Fail(absl::UnavailableError(
      absl::StrCat(peer.name, " has left: it ended its part in good order, but rank ", rank(),
                   " was not done with it: do all ranks take part in the same operations?")));
}

absl::Status TcpEndpoint::FirstFailure() const {
  const std::lock_guard lock(mutex_);
  // A copy that shares nothing with another thread's: Abseil counts references where TSan
  // cannot see it.
  return absl::Status(failure_.code(), failure_.message());
}

absl::Status TcpEndpoint::Fail(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) {
    failure_ = absl::Status(why.code(), why.message());
    const std::string words = LastWords(rank(), failure_);
    for (Peer& peer : peers_) {
      if (peer.control != nullptr) peer.control->SendLast(ControlKind::kLastWords, words);
    }
    failed_.store(true, std::memory_order_release);
  }
  return absl::Status(failure_.code(), failure_.message());
}

void TcpEndpoint::Abort(const absl::Status& why) {
  CROSSOVER_CHECK(!why.ok(), "an abort has a reason");
  Fail(why).IgnoreError();
  Wake();
}

void TcpEndpoint::Wake() {
  const uint64_t one = 1;
  // The only failure possible is a full counter, and then the descriptor is readable.
  (void)!write(wake_.get(), &one, sizeof(one));
}

void TcpEndpoint::Publish(const std::string& note) {
  for (Peer& peer : peers_) {
    if (peer.control != nullptr && !peer.has_left) peer.control->SendNote(note);
  }
}

void TcpEndpoint::CutConnections() {
  for (Peer& peer : peers_) {
    if (peer.control == nullptr) continue;
    shutdown(peer.control->fd(), SHUT_RDWR);
    shutdown(peer.data.get(), SHUT_RDWR);
  }
}

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
  if (!(options.connect_s > 0) || !(options.handshake_s > 0)) {
    return absl::InvalidArgumentError("connect_s and handshake_s must be positive");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Listen(
    const std::string& host, int port, const std::string& congestion_control) {
  ASSIGN_OR_RETURN(UniqueFd fd, ListenOn(host, port, congestion_control));
  std::string address = OwnAddress(fd.get());
  return std::unique_ptr<TcpListener>(
      new TcpListener(std::move(fd), std::move(address), congestion_control));
}

absl::StatusOr<std::unique_ptr<Endpoint>> ConnectTcp(std::unique_ptr<TcpListener> listener,
                                                     const TcpEndpointOptions& options,
                                                     const Clock& clock) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (options.splice) SpliceSender::IgnoreBrokenPipes();
  ASSIGN_OR_RETURN(std::vector<PeerConnections> connections,
                   ConnectMesh(*listener, options, clock));
  UniqueFd wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.valid()) return absl::InternalError(absl::StrCat("eventfd: ", ErrnoText(errno)));
  return std::make_unique<TcpEndpoint>(options, std::move(connections), std::move(wake), clock);
}

void CutTcpConnections(Endpoint& endpoint) { static_cast<TcpEndpoint&>(endpoint).CutConnections(); }

}  // namespace crossover::net
