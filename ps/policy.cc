#include "ps/policy.h"

#include "core/check.h"
#include "core/elastic_averaging.h"
#include "core/strategy_traits.h"

namespace crossover::ps {

Policy PolicyFor(const proto::Job& job) {
  Policy policy;
  policy.workers = job.workers();
  switch (job.strategy()) {
    case proto::Strategy::ps_sync:
      policy.contributions = job.workers();
      policy.lead_steps_max = 0;
      policy.clip_norm = job.optimizer().clip_norm();
      policy.rank_order = job.deterministic();
      return policy;
    case proto::Strategy::ps_backup:
      policy.contributions = job.workers() - job.ps().backup_workers();
      policy.drops_late = true;
      return policy;
    case proto::Strategy::ps_ssp:
      policy.lead_steps_max = job.ps().staleness_bound();
      return policy;
    case proto::Strategy::ps_async:
      return policy;
    case proto::Strategy::ps_async_dc:
      policy.delay_compensation = job.ps().delay_compensation();
      return policy;
    case proto::Strategy::ps_async_scaled:
      policy.rate_falls_with_staleness = true;
      return policy;
    case proto::Strategy::ps_elastic:
      policy.pushed = Pushed::kParameters;
      policy.elastic_rate = ElasticRate(job);
      return policy;
    case proto::Strategy::local_sgd:
      policy.contributions = job.workers();
      policy.lead_steps_max = 0;
      policy.pushed = Pushed::kParameters;
      policy.rank_order = job.deterministic();
      return policy;
    case proto::Strategy::ps_groups:
      policy.group_size = GroupOf(job, 0).size;
      return policy;
    case proto::Strategy::single:
    case proto::Strategy::allreduce_ring:
      break;
  }
  CROSSOVER_CHECK(false, "a job without servers was given to a server");
  return policy;
}

int64_t OpenStep(const Policy& policy, int64_t step, int64_t oldest_version) {
  return policy.drops_late ? oldest_version : step + 1;
}

}  // namespace crossover::ps
