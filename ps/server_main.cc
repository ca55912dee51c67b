// The parameter-server binary: one server of a run, started by the compare binary
// or by hand. Needs no data and no LibTorch.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/job.h"
#include "core/status.h"
#include "net/address.h"
#include "net/identity.h"
#include "process/member_process.h"
#include "ps/server_run.h"

namespace crossover::ps {
namespace {

constexpr net::Role kRole = net::Role::kServer;

FlagSet MakeFlags(process::MemberFlags& member) {
  FlagSet flags("server --rank=R --rendezvous=HOST:PORT --token_file=FILE [flags]",
                "Holds its share of the parameters and applies what the workers push. Every "
                "process of the run gets the same job, token and rendezvous. Ends by itself once "
                "the workers have left.");
  process::AddRunFlags(member, flags);
  process::AddProcessFlags(member, flags);
  flags.AddJobFields();
  flags.AddExample(
      "server --rank=0 --rendezvous=10.0.0.1:29500 --token_file=token --interface=10.0.0.0/24",
      "the first server of a run whose worker 0 is on 10.0.0.1");
  return flags;
}

absl::StatusOr<process::MemberRun> Prepare(const process::MemberFlags& member,
                                           const proto::Job& job, const Clock& clock) {
  if (!UsesServers(job)) {
    return absl::InvalidArgumentError(
        absl::StrCat("strategy ", StrategyName(job.strategy()), " of this job uses no servers"));
  }
  ASSIGN_OR_RETURN(const process::MemberSetup setup,
                   process::SetUpMember(member, kRole, job.servers(), job.tls()));
  ServerRunOptions options;
  options.job = job;
  options.rank = setup.rank;
  options.token = setup.token;
  options.tls_pem = setup.tls_pem;
  options.rendezvous_address = setup.rendezvous_address;
  options.listen_address = net::FormatHostPort(setup.listen);
  options.report_path = setup.report_path;
  process::LogLine(kRole, setup.rank, absl::StrCat("listening on ", setup.listen_choice));
  const auto run = std::make_shared<ServerRun>(options, clock);
  return process::MemberRun{[run] { return run->Name(); }, [run] { return run->Run(); },
                            [run](const absl::Status& why) { return run->Stop(why); }};
}

int Main(int argc, char** argv) {
  const SystemClock clock;
  process::MemberFlags member;
  const FlagSet flags = MakeFlags(member);
  return process::MemberMain(argc, argv, kRole, flags, member,
                             [&](const proto::Job& job) { return Prepare(member, job, clock); });
}

}  // namespace
}  // namespace crossover::ps

int main(int argc, char** argv) { return crossover::ps::Main(argc, argv); }
