#include "worker/strategies/strategy_table.h"

#include "core/check.h"
#include "worker/strategies/allreduce_strategy.h"
#include "worker/strategies/elastic_strategy.h"
#include "worker/strategies/groups_strategy.h"
#include "worker/strategies/local_strategy.h"
#include "worker/strategies/parameter_server_strategy.h"

namespace crossover::worker {
namespace {

template <typename Class>
std::unique_ptr<Strategy> Make(const StrategyContext& context) {
  return std::make_unique<Class>(context);
}

struct Entry {
  proto::Strategy::Name name;
  std::unique_ptr<Strategy> (*make)(const StrategyContext&);
};

constexpr Entry kStrategies[] = {
    {proto::Strategy::single, Make<AllReduceStrategy>},  // an AllReduce of one
    {proto::Strategy::ps_sync, Make<ParameterServerStrategy>},
    {proto::Strategy::ps_backup, Make<ParameterServerStrategy>},
    {proto::Strategy::ps_ssp, Make<ParameterServerStrategy>},
    {proto::Strategy::ps_async, Make<ParameterServerStrategy>},
    {proto::Strategy::ps_async_dc, Make<ParameterServerStrategy>},
    {proto::Strategy::ps_async_scaled, Make<ParameterServerStrategy>},
    {proto::Strategy::ps_elastic, Make<ElasticStrategy>},
    {proto::Strategy::ps_groups, Make<GroupsStrategy>},
    {proto::Strategy::allreduce_ring, Make<AllReduceStrategy>},
    {proto::Strategy::local_sgd, Make<LocalStrategy>},
};

}  // namespace

std::unique_ptr<Strategy> MakeStrategy(const StrategyContext& context) {
  for (const Entry& entry : kStrategies) {
    if (entry.name == context.job.strategy()) return entry.make(context);
  }
  CROSSOVER_CHECK(false, "ValidateJob admits only strategies of the table");
  return nullptr;
}

}  // namespace crossover::worker
