// What the rendezvous's tests share. Test code only.
#ifndef CROSSOVER_NET_RENDEZVOUS_TEST_UTIL_H_
#define CROSSOVER_NET_RENDEZVOUS_TEST_UTIL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "gtest/gtest.h"
#include "net/rendezvous_client.h"
#include "net/rendezvous_server.h"

namespace crossover::net {

// Receives an on_abort.
class AbortWatch {
 public:
  std::function<void(const absl::Status&)> Handler() {
    return [this](const absl::Status& status) {
      std::lock_guard lock(mutex_);
      ++calls_;
      status_ = status;
      changed_.notify_all();
    };
  }
  // Blocks until it was called; OK if that does not happen within 60 s.
  absl::Status Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [this] { return calls_ > 0; });
    return status_;
  }
  int calls() {
    std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  absl::Status status_;
};

using Client = std::unique_ptr<RendezvousClient>;

// The system's clock, which can be put forward. Waits that are under way do not notice.
class ForwardClock final : public Clock {
 public:
  int64_t NowNs() const override { return system_.NowNs() + forward_ns_; }
  void SleepNs(int64_t duration_ns) override { system_.SleepNs(duration_ns); }
  void Forward(double seconds) { forward_ns_ += static_cast<int64_t>(seconds * 1e9); }

 private:
  SystemClock system_;
  std::atomic<int64_t> forward_ns_ = 0;
};

class RendezvousTest : public testing::Test {
 protected:
  // What has to happen is given this long, many times what it takes.
  static constexpr double kLongS = 60;

  RendezvousTest() {
    identity_.job_fingerprint = 42;
    identity_.token = "0123456789abcdef0123456789abcdef";
  }
  RendezvousServer::Options ServerOptions(int workers, int servers) const {
    RendezvousServer::Options options;
    options.identity = identity_;
    options.workers = workers;
    options.servers = servers;
    options.join_s = kLongS;
    options.loss_s = kLongS;
    return options;
  }
  void StartServer(const RendezvousServer::Options& options) {
    absl::StatusOr<std::unique_ptr<RendezvousServer>> server =
        RendezvousServer::Start(options, clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  RendezvousClient::Options ClientOptions(Role role, int rank) const {
    RendezvousClient::Options options;
    if (server_ != nullptr) options.address = server_->address();
    options.identity = identity_;
    options.identity.role = role;
    options.identity.rank = rank;
    options.data_address = Address(role, rank);
    options.join_s = kLongS;
    options.loss_s = kLongS;
    options.heartbeat_s = 0.1;
    return options;
  }
  static std::string Address(Role role, int rank) {
    return "127.0.0.1:" + std::to_string(role == Role::kWorker ? 4000 + rank : 5000 + rank);
  }
  absl::StatusOr<Client> Join(const RendezvousClient::Options& options,
                              AbortWatch* watch = nullptr) {
    return RendezvousClient::Join(options, clock_, watch != nullptr ? watch->Handler() : nullptr);
  }
  std::future<absl::StatusOr<Client>> JoinAsync(const RendezvousClient::Options& options,
                                                AbortWatch* watch = nullptr) {
    return std::async(std::launch::async, [this, options, watch] { return Join(options, watch); });
  }
  // Joins with all of these at once, into clients_, in their order.
  void JoinAll(const std::vector<RendezvousClient::Options>& options) {
    std::vector<std::future<absl::StatusOr<Client>>> joins;
    for (size_t i = 0; i < options.size(); ++i) {
      watches_.push_back(std::make_unique<AbortWatch>());
      joins.push_back(JoinAsync(options[i], watches_.back().get()));
    }
    for (auto& join : joins) {
      absl::StatusOr<Client> client = join.get();
      ASSERT_TRUE(client.ok()) << client.status();
      clients_.push_back(*std::move(client));
    }
  }
  // A run with the default options: workers first, then servers.
  void StartRun(int workers, int servers) {
    StartServer(ServerOptions(workers, servers));
    if (server_ == nullptr) return;
    std::vector<RendezvousClient::Options> options;
    for (int i = 0; i < workers; ++i) options.push_back(ClientOptions(Role::kWorker, i));
    for (int i = 0; i < servers; ++i) options.push_back(ClientOptions(Role::kServer, i));
    JoinAll(options);
  }
  // True as soon as `condition` is; looks again every few milliseconds.
  bool Eventually(const std::function<bool()>& condition) {
    SystemClock clock;
    const int64_t deadline_ns = clock.NowNs() + static_cast<int64_t>(kLongS * 1e9);
    while (!condition()) {
      if (clock.NowNs() > deadline_ns) return false;
      clock.SleepNs(2'000'000);
    }
    return true;
  }

  ForwardClock clock_;
  Identity identity_;
  std::unique_ptr<RendezvousServer> server_;
  std::vector<std::unique_ptr<AbortWatch>> watches_;
  std::vector<Client> clients_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_RENDEZVOUS_TEST_UTIL_H_
