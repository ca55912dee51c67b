// A server whose threads all apply pushes is busy, not dead: its heartbeats go on and are
// answered, so neither the rendezvous nor the server itself takes the other for lost.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/clock.h"
#include "core/timeline.h"
#include "net/rendezvous_client.h"
#include "net/rendezvous_server.h"
#include "os/unique_fd.h"
#include "ps/client.h"
#include "ps/exchange_testing.h"
#include "ps/server.h"

namespace crossover::ps {
namespace {

// More than gRPC has callback threads anywhere, so that each of them is in a push.
constexpr int kWorkers = 24;
constexpr int64_t kLength = 4;  // one part
constexpr double kLossS = 2;
constexpr int64_t kBusyNs = 5'000'000'000;  // in which silence would be noticed twice

// The system's clock, which can make every caller wait: the server asks it for the time
// within each push, so that each takes as long as the test wants.
class SlowClock final : public Clock {
 public:
  int64_t NowNs() const override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !slow_; });
    --waiting_;
    return system_.NowNs();
  }
  void SleepNs(int64_t duration_ns) override { system_.SleepNs(duration_ns); }

  void SetSlow(bool slow) {
    const std::lock_guard lock(mutex_);
    slow_ = slow;
    changed_.notify_all();
  }
  void WaitForACaller() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  SystemClock system_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int waiting_ = 0;
  bool slow_ = false;
};

net::Identity IdentityOf(net::Role role) {
  return {0x1234, "0123456789abcdef0123456789abcdef", role, 0};
}

// The rendezvous of one worker and one server, in a process of its own, as in a run: here its
// threads would be the server's. Made before gRPC has any thread.
class RendezvousProcess {
 public:
  RendezvousProcess() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const os::UniqueFd reading(ends[0]);
    const os::UniqueFd writing(ends[1]);
    pid_ = fork();
    if (pid_ == 0) _exit(Serve(writing.get()));
    std::array<char, 64> address{};
    EXPECT_GT(read(reading.get(), address.data(), address.size() - 1), 0);
    address_ = address.data();
  }
  ~RendezvousProcess() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  const std::string& address() const { return address_; }
  // Blocks until all have left in good order (true) or the run was aborted.
  bool EndsWell() {
    int status = 0;
    EXPECT_EQ(waitpid(std::exchange(pid_, 0), &status, 0) > 0, true);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  static int Serve(int writing) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const SystemClock clock;
    net::RendezvousServer::Options options;
    options.identity = IdentityOf(net::Role::kWorker);
    options.workers = 1;
    options.servers = 1;
    options.loss_s = kLossS;
    const auto server = net::RendezvousServer::Start(options, clock);
    if (!server.ok()) return 2;
    const std::string address = (*server)->address();
    if (write(writing, address.c_str(), address.size()) < 0) return 2;
    return (*server)->WaitForEnd(60) && (*server)->status().ok() ? 0 : 1;
  }

  pid_t pid_ = 0;
  std::string address_;
};

std::unique_ptr<net::RendezvousClient> Join(const std::string& address, net::Role role,
                                            const Clock& clock) {
  net::RendezvousClient::Options options;
  options.address = address;
  options.identity = IdentityOf(role);
  options.loss_s = kLossS;
  auto member = net::RendezvousClient::Join(options, clock, [](const absl::Status&) {});
  EXPECT_TRUE(member.ok()) << member.status();
  return member.ok() ? *std::move(member) : nullptr;
}

TEST(BusyServer, ItsHeartbeatsGoOn) {
  RendezvousProcess rendezvous;
  const SystemClock clock;
  auto worker = std::async(std::launch::async,
                           [&] { return Join(rendezvous.address(), net::Role::kWorker, clock); });
  const auto server_member = Join(rendezvous.address(), net::Role::kServer, clock);
  const auto worker_member = worker.get();
  ASSERT_TRUE(server_member != nullptr && worker_member != nullptr);

  SlowClock slow;
  TestCluster cluster(TestJob(proto::Strategy::ps_async, kWorkers, 1), {kLength}, slow);
  std::vector<float> gradient(kLength);
  std::vector<std::vector<float>> parameters(kWorkers, std::vector<float>(kLength));
  Timeline timeline(clock);
  std::vector<std::unique_ptr<Client>> clients;
  for (int rank = 0; rank < kWorkers; ++rank) {
    auto client = Client::Connect(cluster.ClientOptions(rank), cluster.buckets(), timeline);
    ASSERT_TRUE(client.ok()) << client.status();
    if (rank == 0) {
      ASSERT_TRUE((*client)->Initialize(parameters[0]).ok());
    }
    ASSERT_TRUE((*client)->Pull(parameters[rank]).ok());
    clients.push_back(*std::move(client));
  }

  slow.SetSlow(true);
  for (int rank = 0; rank < kWorkers; ++rank) {
    clients[rank]->BeginStep(0, gradient, parameters[rank]);
    clients[rank]->PushBucket(0);
  }
  slow.WaitForACaller();
  SystemClock().SleepNs(kBusyNs);
  EXPECT_EQ(server_member->status(), absl::OkStatus());
  EXPECT_EQ(worker_member->status(), absl::OkStatus());
  slow.SetSlow(false);
  for (const auto& client : clients) EXPECT_EQ(client->Wait(), absl::OkStatus());

  EXPECT_EQ(worker_member->Leave(), absl::OkStatus());
  EXPECT_EQ(server_member->WaitForWorkersToLeave(), absl::OkStatus());
  EXPECT_EQ(server_member->Leave(), absl::OkStatus());
  EXPECT_TRUE(rendezvous.EndsWell());
}

}  // namespace
}  // namespace crossover::ps
