// One rank of a communication test as a process: meets the others, connects, measures, leaves.
// Started by the test itself or by hand.
#ifndef CROSSOVER_BENCH_COMM_MEMBER_H_
#define CROSSOVER_BENCH_COMM_MEMBER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "bench/comm/rank_links.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "core/clock.h"
#include "net/rendezvous_client.h"
#include "net/rendezvous_server.h"

namespace crossover::bench {

// Run on one thread; Stop from any.
class Member {
 public:
  struct Options {
    TestPlan plan;
    int rank = 0;
    int world_size = 1;
    std::string token;
    std::string rendezvous_address;
    bool hosts_rendezvous = false;  // rank 0 of a test that was started by hand
    std::string listen_host;
    int listen_port = 0;
    // The same lines on every rank.
    std::function<void(const Record&)> found;
  };
  // `clock` outlives the member.
  Member(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  // Blocks to the end. Errors: one line that names who failed and why.
  absl::Status Run();
  // Ends the test for everyone. False where this rank has not joined yet.
  bool Stop(const absl::Status& why);

 private:
  absl::Status RunToTheEnd();
  absl::Status Join();
  absl::Status Measure();
  absl::Status Leave();
  void OnAbort(const absl::Status& why);
  absl::Status aborted() const;
  bool AbortedSoon();

  const Options options_;
  const Clock& clock_;
  net::Identity identity_;
  std::unique_ptr<net::RendezvousServer> hosted_rendezvous_;
  std::unique_ptr<net::TcpListener> listener_;
  mutable std::mutex mutex_;
  std::condition_variable abort_known_;
  absl::Status aborted_;
  RankLinks* links_ = nullptr;               // while they are open
  net::RendezvousClient* joined_ = nullptr;  // for Stop
  // Last: its destruction waits for an OnAbort that is running.
  std::unique_ptr<net::RendezvousClient> rendezvous_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_MEMBER_H_
