#include "core/strategy_traits.h"

#include <algorithm>
#include <bit>

#include "core/averaging.h"
#include "core/check.h"

namespace crossover {

StrategyTraits TraitsOf(const proto::Job& job) {
  switch (job.strategy()) {
    case proto::Strategy::single:
      return {.one_process = true, .updates_here = true};
    case proto::Strategy::ps_sync:
      return {.servers = true, .barrier = true};
    case proto::Strategy::ps_ssp:
    case proto::Strategy::ps_async:
    case proto::Strategy::ps_async_dc:
    case proto::Strategy::ps_async_scaled:
      return {.servers = true, .update_per_push = true};
    case proto::Strategy::ps_backup:
      return {.servers = true};
    case proto::Strategy::ps_elastic:
      return {.servers = true, .updates_here = true, .local_steps = true};
    case proto::Strategy::ps_groups:
      return {.servers = true, .collective = true, .update_per_push = true};
    case proto::Strategy::allreduce_ring:
      return {.collective = true, .barrier = true, .updates_here = true};
    case proto::Strategy::local_sgd: {
      const bool servers = job.local_sgd().through() == proto::LocalSgd::servers;
      return {.servers = servers,
              .collective = !servers,
              .barrier = true,
              .updates_here = true,
              .local_steps = true};
    }
  }
  CROSSOVER_CHECK(false, "every strategy has a row");
  return {};
}

WorkerGroup GroupOf(const proto::Job& job, int rank) {
  if (job.strategy() != proto::Strategy::ps_groups) return {.first = 0, .size = job.workers()};
  const int size = job.workers() / job.ps().groups();
  return {.first = rank / size * size, .size = size};
}

bool TalksToServers(const proto::Job& job, int rank) {
  const StrategyTraits traits = TraitsOf(job);
  return traits.servers && (!traits.collective || rank == GroupOf(job, rank).first);
}

int UpdatesPerGlobalBatch(const proto::Job& job) {
  const StrategyTraits traits = TraitsOf(job);
  if (!traits.update_per_push) return 1;
  return traits.collective ? job.ps().groups() : job.workers();
}

proto::AllReduce::Algorithm AllReduceAlgorithmOf(const proto::Job& job) {
  return job.deterministic() ? proto::AllReduce::direct : job.allreduce().algorithm();
}

double AllReduceBytes(proto::AllReduce::Algorithm algorithm, int ranks, double bytes) {
  const double n = ranks;
  if (algorithm == proto::AllReduce::exchange) return (n - 1) * bytes;
  if (algorithm == proto::AllReduce::recursive_doubling) {
    const auto size = static_cast<unsigned>(ranks);
    const double largest_power = std::bit_floor(size);
    const double steps = std::bit_width(size) - 1;
    return (largest_power * steps + 2 * (n - largest_power)) / n * bytes;
  }
  return 2 * (n - 1) / n * bytes;
}

double AllReduceBytesBetweenHosts(int hosts, int ranks, double bytes) {
  return 2. * (hosts - 1) / ranks * bytes;
}

double ServersWireShare(const proto::Job& job) {
  return job.ps().wire() == proto::ParameterServer::fp32 ? 1 : 0.5;
}

double BytesPerSynchronisation(const proto::Job& job, double model_bytes) {
  const StrategyTraits traits = TraitsOf(job);
  if (traits.servers && traits.collective) {
    const int k = GroupOf(job, 0).size;
    return AllReduceBytes(AllReduceAlgorithmOf(job), k, model_bytes) +
           static_cast<double>(k - 1) / k * model_bytes + ServersWireShare(job) * model_bytes / k;
  }
  if (traits.servers) return ServersWireShare(job) * model_bytes;
  if (!traits.collective) return 0;
  return AllReduceBytes(AllReduceAlgorithmOf(job), job.workers(), model_bytes);
}

int64_t Synchronisations(const proto::Job& job, int64_t total_steps) {
  const StrategyTraits traits = TraitsOf(job);
  if (traits.one_process) return 0;
  if (!traits.local_steps) return total_steps;
  if (job.strategy() == proto::Strategy::ps_elastic) {
    return total_steps / job.local_sgd().local_steps();
  }
  // The schedule, counted: every step of the first phase, then the first of every H.
  const AveragingSchedule schedule = MakeAveragingSchedule(job.local_sgd(), total_steps);
  const int64_t first = std::min(schedule.first_phase_steps, total_steps);
  const int64_t h = schedule.local_steps;
  return first + (total_steps - first + h - 1) / h;
}

int64_t EvaluationInterval(const proto::Job& job, int64_t steps_per_epoch) {
  const int64_t every = job.measure().evaluate_every_steps();
  return every > 0 ? every : steps_per_epoch;
}

}  // namespace crossover
