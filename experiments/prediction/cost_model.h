// What a step should cost by the published formulas, from the speed of the link, the
// compute of one worker and the buckets. Pure arithmetic: nothing here is measured
// or fitted. docs/METRICS.md, "Predictions", has the same formulas in words.
//
// With N workers, S servers, m bytes of a bucket, M of all, B bytes/s of a network card
// and direction, alpha the latency of a message, gamma the time to add a byte, r the bytes/s
// that a server can sum and apply, p the bytes of a part:
//
//   ring       T(m) = 2(N-1) alpha + 2(N-1)/N m/B + (N-1)/N m gamma      (Patarasuk, Yuan 2009)
//   direct     T(m) = 2 alpha + 2(N-1)/N m/B + (N-1)/N m gamma
//   halving    T(m) = 2p alpha + 2(P-1)/P m/B + (P-1)/P m gamma          (Rabenseifner 2004)
//   doubling   T(m) = p (alpha + m/B + m gamma)                          (Thakur et al. 2005)
//              P = 2^p <= N; both 2 alpha + m/B + m gamma more where N > P
//   tree       T(m) = 2d alpha + d m/B + d m gamma, d = ceil(log2 N)
//   exchange   T(m) = alpha + (N-1) m/B + (N-1) m gamma
//   servers    T(m) = max(m/Bw, N m/(S Bs), N m/(S r)), push and pull in flight together
//              (twice that where the pull only starts after the push); once a step also
//              2 alpha + N p/Bs, the way of the last part through a server
//   colocated  the most loaded node sends its pushes and its servers' replies: with k servers
//              on it, m ((1 - k/S) + k (N-1)/S) / B; for S = N the ring's 2(N-1)/N m/B
//
//   a bucket's end      c_b = max(c_(b-1), ready_b) + T(m_b)
//   synchronous step    data + max(Z, c_last) + update
//   async step          max(that with one worker on the servers, N D), D = M/(S min(Bs, r)):
//                       a throughput of at most min(N/(Z + D), 1/D), or N/(Z + 2D) where the
//                       pull only starts after the push
//   bounded-stale step  the same, of the slowest worker: the bound holds the others to it
//   local steps         data + Z + update + share x sum of T: share is 1/H after the first phase
//   single              N (data + Z) + update
//
// Z is the compute of one worker (of the slowest where all wait for it). Exposed communication
// is what the step has beside data, compute and update, as it is measured.
#ifndef CROSSOVER_EXPERIMENTS_PREDICTION_COST_MODEL_H_
#define CROSSOVER_EXPERIMENTS_PREDICTION_COST_MODEL_H_

#include <limits>
#include <string>
#include <vector>

namespace crossover::experiments {

enum class Exchange {
  kNone,
  kRing,
  kDirect,
  kHalvingDoubling,
  kRecursiveDoubling,
  kTree,
  kOneStep,  // everyone sends everything to everyone
  kServers,
};

enum class Pace {
  kSynchronous,   // all wait for all in every step
  kBoundedStale,  // nobody waits, but for the slowest at the bound
  kAsync,         // nobody waits
  kLocalSteps,    // all wait for all in some steps; nothing overlaps with compute
};

struct BucketCost {
  double bytes = 0;
  // From the start of compute until its gradients are final.
  double ready_s = 0;
  // Of a collective whose buckets differ; kNone: as CostInputs has it.
  Exchange exchange = Exchange::kNone;
};

// Bytes per second of one network card and direction: the slowest of its role.
struct LinkSpeed {
  double worker_send_bytes_per_s = 0;
  double worker_receive_bytes_per_s = 0;
  double server_send_bytes_per_s = 0;
  double server_receive_bytes_per_s = 0;
  double latency_s = 0;  // alpha, one way
};

// Positive where a scheme uses it: workers, and with kServers servers; rates. Ready times
// go up and do not exceed compute_s.
struct CostInputs {
  Exchange exchange = Exchange::kNone;
  Pace pace = Pace::kSynchronous;
  int workers = 1;
  int servers = 0;
  bool colocated = false;
  // False: the pull of a bucket starts when its push has ended.
  bool pipelined = true;
  double part_bytes = 0;  // p
  std::vector<BucketCost> buckets;
  double data_s = 0;
  double compute_s = 0;  // Z
  double update_s = 0;   // of the optimizer on a worker
  // Compute of the slowest worker over Z. Its buckets are ready so many times as late, or all
  // at the end of its compute.
  double slowest_factor = 1;
  bool slowest_in_turn = false;
  // Steps that exchange at all, with kLocalSteps.
  double exchanged_share = 1;
  LinkSpeed link;
  double reduce_s_per_byte = 0;                                        // gamma
  double apply_bytes_per_s = std::numeric_limits<double>::infinity();  // r
};

// Means over workers and steps.
struct Cost {
  double step_ms = 0;
  double compute_ms = 0;
  double exposed_ms = 0;
  double communication_share = 0;  // exposed / step
  // All buckets one after the other, compute apart, and what of it is latency.
  double exchange_ms = 0;
  double latency_ms = 0;
  std::string formula;  // with its figures
};

// T(m) of one bucket; `contributors` workers push at once (N, or 1 on idle servers).
double ExchangeTime(const CostInputs& inputs, double bytes, int contributors);

Cost CostOfStep(const CostInputs& inputs);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_PREDICTION_COST_MODEL_H_
