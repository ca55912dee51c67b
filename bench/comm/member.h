// One rank of a communication test as a process: meets the others, connects, measures, leaves.
// Started by the test itself or by hand.
#ifndef CROSSOVER_BENCH_COMM_MEMBER_H_
#define CROSSOVER_BENCH_COMM_MEMBER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/comm/record.h"
#include "bench/comm/test_plan.h"
#include "core/clock.h"
#include "net/tcp_endpoint.h"
#include "process/membership_session.h"

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
  Member(Options options, const Clock& clock);

  // Blocks to the end. Errors: one line that names who failed and why.
  absl::Status Run();
  // Ends the test for everyone. False where this rank has not joined yet.
  bool Stop(const absl::Status& why) { return session_.Stop(why); }

 private:
  absl::StatusOr<std::string> Listen();
  absl::Status Measure();

  const Options options_;
  const Clock& clock_;
  std::unique_ptr<net::TcpListener> listener_;  // until the ranks connect
  process::MembershipSession session_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_MEMBER_H_
