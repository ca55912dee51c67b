// What a strategy's name means for everybody but its own class: which links it needs,
// who waits, how many updates it makes, what it sends. One row a strategy. Pure; the
// job must have passed ValidateJob.
#ifndef CROSSOVER_CORE_STRATEGY_TRAITS_H_
#define CROSSOVER_CORE_STRATEGY_TRAITS_H_

#include <cstdint>

#include "proto/job.pb.h"

namespace crossover {

struct StrategyTraits {
  bool one_process = false;      // one worker process computes every worker's shard
  bool servers = false;          // values go through parameter servers
  bool collective = false;       // values go from worker to worker
  bool update_per_push = false;  // a server makes an update of each worker's push
  bool barrier = false;          // every rank takes part in each synchronisation
  bool updates_here = false;     // the optimizer runs on the workers
  bool local_steps = false;      // parameters are exchanged, not gradients, and not every step
};
StrategyTraits TraitsOf(const proto::Job& job);

// Workers of consecutive ranks among which the job's collectives are. One of them, the first, talks
// to the servers for all where a strategy has both.
struct WorkerGroup {
  int first = 0;
  int size = 1;
};
// Of a worker of this rank: one of ps.groups groups in ps_groups, elsewhere all workers.
WorkerGroup GroupOf(const proto::Job& job, int rank);
bool TalksToServers(const proto::Job& job, int rank);

// Updates that the gradients of one global batch make: 1 where they are averaged, else one for
// each worker or group that pushes.
int UpdatesPerGlobalBatch(const proto::Job& job);

// What the job's AllReduces go by: in deterministic mode direct, whatever the job names.
proto::AllReduce::Algorithm AllReduceAlgorithmOf(const proto::Job& job);

// Payload of a mean rank, each way, in an AllReduce of M = `bytes` among N ranks: 2 (N-1)/N M,
// which is the least that there can be and what all algorithms move whose ranks pass on sums and
// results; recursive doubling (P p + 2 (N-P))/N M, with P = 2^p the largest power of two within N;
// the exchange (N-1) M. However the buffer is cut, and whoever shares a host. docs/ALGORITHMS.md
// has the busiest rank's. `automatic` counts as an algorithm of the least.
double AllReduceBytes(proto::AllReduce::Algorithm algorithm, int ranks, double bytes);
// The same of `hierarchical` whose ranks share memory within their hosts, which is not counted:
// 2(H-1)/N M, of the ring between H hosts alone.
double AllReduceBytesBetweenHosts(int hosts, int ranks, double bytes);

// Of the bytes of fp32 values, how many travel to servers and back: half where ps.wire is a half.
double ServersWireShare(const proto::Job& job);

// Payload of a mean worker and synchronisation, each way, by the formula: with M = model_bytes,
// servers M (of halves M/2); a collective AllReduceBytes of the job's algorithm; in groups of k
// these among k, a broadcast's (k-1)/k M, and a k-th of what servers have; nothing for one process.
double BytesPerSynchronisation(const proto::Job& job, double model_bytes);

// Synchronisations in `total_steps` steps, without the one that a strategy of local
// steps adds at its end.
int64_t Synchronisations(const proto::Job& job, int64_t total_steps);

// Steps between two snapshots that are evaluated.
int64_t EvaluationInterval(const proto::Job& job, int64_t steps_per_epoch);

}  // namespace crossover

#endif  // CROSSOVER_CORE_STRATEGY_TRAITS_H_
