// What the tests of server and client share. For tests alone.
#ifndef CROSSOVER_PS_EXCHANGE_TESTING_H_
#define CROSSOVER_PS_EXCHANGE_TESTING_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/bucket_plan.h"
#include "core/clock.h"
#include "net/identity.h"
#include "proto/job.pb.h"
#include "ps/client.h"
#include "ps/server.h"

namespace crossover::ps {

// Nesterov with a constant rate of 1/8, parts of 16 bytes, and TCP.
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
  Server& server(int rank) const { return *servers_[rank]; }
  net::Identity WorkerIdentity(int worker) const;
  Client::Options ClientOptions(int worker) const;
  // What the servers reported of lost workers so far.
  std::vector<std::string> lost() const;
  // What the servers said that they hold.
  std::vector<std::string> holdings() const;
  // Asks again and again, a millisecond apart, for at most half a minute (then it
  // is a failure of the test).
  void WaitUntil(const std::function<bool()>& condition);

 private:
  const proto::Job job_;
  std::string tls_pem_;  // where the job has tls
  BucketPlan buckets_;
  SystemClock clock_;
  mutable std::mutex mutex_;
  std::vector<std::string> lost_;
  std::vector<std::string> holdings_;
  std::vector<std::unique_ptr<Server>> servers_;
};

// Buckets 0, 1 and 2 of so many values together, trained from FirstParameters with gradients that
// depend on worker, step and parameters.
inline constexpr int64_t kTestLength = 100;
std::vector<float> FirstParameters();
// Trains for `steps`, buckets last to first, and leaves.
absl::Status Train(Client& client, int worker, int64_t steps, std::vector<float>& parameters);
// All workers of the cluster at once; their parameters after the last step.
std::vector<std::vector<float>> TrainAll(TestCluster& cluster, int64_t steps);
// What a synchronous job should come to, in one thread and without a network.
std::vector<float> SerialSync(const proto::Job& job, int64_t steps);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_EXCHANGE_TESTING_H_
