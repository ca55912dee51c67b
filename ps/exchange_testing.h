// What the tests of server and client share. For tests alone.
#ifndef CROSSOVER_PS_EXCHANGE_TESTING_H_
#define CROSSOVER_PS_EXCHANGE_TESTING_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/bucket_plan.h"
#include "core/clock.h"
#include "net/identity.h"
#include "proto/job.pb.h"
#include "ps/client.h"
#include "ps/server.h"

namespace crossover::ps {

// Nesterov with a constant rate of 1/8, and parts of 16 bytes.
proto::Job TestJob(proto::Strategy::Name strategy, int workers, int servers);

// The servers of a job, and what a worker needs to reach them.
class TestCluster {
 public:
  TestCluster(const proto::Job& job, const std::vector<int64_t>& bucket_lengths);
  // With a clock for the servers, which must outlive this.
  TestCluster(const proto::Job& job, const std::vector<int64_t>& bucket_lengths,
              const Clock& server_clock);
  ~TestCluster();

  const proto::Job& job() const { return job_; }
  const BucketPlan& buckets() const { return buckets_; }
  const Clock& clock() const { return clock_; }
  Server& server(int rank) { return *servers_[rank]; }
  net::Identity WorkerIdentity(int worker) const;
  Client::Options ClientOptions(int worker) const;
  // What the servers reported of lost workers so far.
  std::vector<std::string> lost() const;
  // Asks again and again, a millisecond apart, for at most half a minute (then it
  // is a failure of the test).
  void WaitUntil(const std::function<bool()>& condition);

 private:
  const proto::Job job_;
  BucketPlan buckets_;
  SystemClock clock_;
  mutable std::mutex mutex_;
  std::vector<std::string> lost_;
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_EXCHANGE_TESTING_H_
