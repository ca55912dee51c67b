// One worker of ps_test, which starts it.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/ps/push_pull_plan.h"
#include "bench/ps/push_pull_worker.h"
#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/job.h"
#include "core/status.h"
#include "net/identity.h"
#include "process/member_process.h"

namespace crossover::bench {
namespace {

constexpr net::Role kRole = net::Role::kWorker;

struct Arguments {
  process::MemberFlags member;
  PushPullPlan plan;
  std::string server_pids;
  std::string record_path;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags("ps_worker [flags]", "One worker of ps_test, which starts it.");
  process::AddRunFlags(arguments.member, flags);
  process::AddProcessFlags(arguments.member, flags);
  flags.BeginGroup("What is measured");
  flags.Add({"bytes", "of the model", "", SetWhole(&arguments.plan.bytes, 4, int64_t{1} << 36)});
  AddPushPullFlags(arguments.plan, flags);
  flags.Add({"server_pids", "processes of this machine whose CPU time counts", "",
             SetText(&arguments.server_pids)});
  flags.Add({"record", "file that gets the line", "none", SetText(&arguments.record_path)});
  return flags;
}

absl::StatusOr<std::vector<pid_t>> ReadPids(const std::string& text) {
  std::vector<pid_t> pids;
  for (const absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(word, &pids.emplace_back())) {
      return absl::InvalidArgumentError(
          absl::StrCat("--server_pids=", text, ": allowed: numbers between commas"));
    }
  }
  return pids;
}

absl::StatusOr<process::MemberRun> Prepare(const Arguments& arguments, const proto::Job& job,
                                           const Clock& clock) {
  if (job.tls()) {
    return absl::InvalidArgumentError(
        "tls is true; allowed: false, as in ps_test; fix: --tls=false");
  }
  ASSIGN_OR_RETURN(const process::MemberSetup setup,
                   process::SetUpMember(arguments.member, kRole, job.workers(), false));
  PushPullWorker::Options options;
  options.plan = arguments.plan;
  options.plan.strategy = StrategyName(job.strategy());
  options.plan.workers = job.workers();
  options.plan.servers = job.servers();
  options.job = job;
  options.rank = setup.rank;
  options.token = setup.token;
  options.rendezvous_address = setup.rendezvous_address;
  options.listen_host = setup.listen.host;
  options.listen_port = setup.listen.port;
  ASSIGN_OR_RETURN(options.server_pids, ReadPids(arguments.server_pids));
  options.record_path = arguments.record_path;
  const auto worker = std::make_shared<PushPullWorker>(options, clock);
  return process::MemberRun{[rank = options.rank] { return net::ProcessName(kRole, rank); },
                            [worker] { return worker->Run(); },
                            [worker](const absl::Status& why) { return worker->Stop(why); }};
}

int Main(int argc, char** argv) {
  const SystemClock clock;
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  return process::MemberMain(argc, argv, kRole, flags, arguments.member,
                             [&](const proto::Job& job) { return Prepare(arguments, job, clock); });
}

}  // namespace
}  // namespace crossover::bench

int main(int argc, char** argv) { return crossover::bench::Main(argc, argv); }
