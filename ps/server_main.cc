// The parameter-server binary: one server of a run, started by the compare binary
// or by hand. Needs no data and no LibTorch.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/job.h"
#include "core/status.h"
#include "net/address.h"
#include "net/grpc_setup.h"
#include "net/identity.h"
#include "os/environment.h"
#include "os/job_file.h"
#include "os/termination.h"
#include "ps/server_run.h"

namespace crossover::ps {
namespace {

struct Arguments {
  int64_t rank = 0;
  std::string rendezvous;
  std::string job_path;
  std::string token_path;
  std::string listen;
  std::string interface;
  std::string report_path;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags("server --rank=R --rendezvous=HOST:PORT --token_file=FILE [flags]",
                "Holds its share of the parameters and applies what the workers push. Every "
                "process of the run gets the same job, token and rendezvous. Ends by itself once "
                "the workers have left.");
  flags.BeginGroup("The run");
  flags.Add({"rank", "this server's rank, from 0", "0", SetWhole(&arguments.rank, 0, 1023)});
  flags.Add({"rendezvous", "where the processes meet", "", SetText(&arguments.rendezvous)});
  flags.Add({"token_file", "file with the run's secret token, the same for all processes", "",
             SetText(&arguments.token_path)});
  flags.Add({"job", "the job, as textproto", "the default job", SetText(&arguments.job_path)});
  flags.BeginGroup("This process");
  flags.Add({"listen", "ADDRESS:PORT for the workers; port 0 chooses one", "127.0.0.1:0",
             SetText(&arguments.listen)});
  flags.Add({"interface", "listen on this interface or address instead, on a port of its choice",
             "", SetText(&arguments.interface)});
  flags.Add({"report", "file for what was measured (a serialised ProcessReport)", "none",
             SetText(&arguments.report_path)});
  flags.AddJobFields();
  flags.AddExample(
      "server --rank=0 --rendezvous=10.0.0.1:29500 --token_file=token --interface=eth0",
      "the first server of a run whose worker 0 is on 10.0.0.1");
  return flags;
}

absl::StatusOr<std::string> ListenAddress(const Arguments& arguments) {
  if (!arguments.listen.empty() && !arguments.interface.empty()) {
    return absl::InvalidArgumentError("--listen and --interface: give one of the two");
  }
  net::HostPort listen{arguments.interface, 0};
  if (!arguments.listen.empty()) {
    absl::StatusOr<net::HostPort> parsed = net::ParseHostPort(arguments.listen);
    RETURN_IF_ERROR(Annotate(parsed.status(), "--listen: "));
    listen = *std::move(parsed);
  }
  ASSIGN_OR_RETURN(listen.host, net::LocalAddress(listen.host));
  return net::FormatHostPort(listen);
}

absl::StatusOr<ServerRunOptions> MakeOptions(const Arguments& arguments, const proto::Job& job) {
  ServerRunOptions options;
  options.job = job;
  options.rank = static_cast<int>(arguments.rank);
  if (!UsesServers(job)) {
    return absl::InvalidArgumentError(
        absl::StrCat("strategy ", StrategyName(job.strategy()), " of this job uses no servers"));
  }
  if (options.rank >= job.servers()) {
    return absl::InvalidArgumentError(absl::StrCat("--rank=", options.rank, ": the job has ",
                                                   job.servers(), " servers; allowed: 0 to ",
                                                   job.servers() - 1));
  }
  RETURN_IF_ERROR(Annotate(net::ParseHostPort(arguments.rendezvous).status(), "--rendezvous: "));
  options.rendezvous_address = arguments.rendezvous;
  if (arguments.token_path.empty()) {
    return absl::InvalidArgumentError("--token_file: missing; give the run's token file");
  }
  ASSIGN_OR_RETURN(options.token, net::ReadTokenFile(os::ResolveUserPath(arguments.token_path)));
  ASSIGN_OR_RETURN(options.listen_address, ListenAddress(arguments));
  options.report_path = os::ResolveUserPath(arguments.report_path);
  return options;
}

int Fail(const std::string& who, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), std::string(status.message()).c_str());
  return 1;
}

int RunUntilSignal(const ServerRunOptions& options, const Clock& clock,
                   os::Termination& termination) {
  // Shared with the signal's thread, which outlives this function.
  const auto run = std::make_shared<ServerRun>(options, clock);
  termination.OnSignal([run](int signal) {
    const bool told = run->Stop(absl::CancelledError(
        absl::StrCat("told to stop by signal ", signal, " (", strsignal(signal), ")")));
    if (!told) _exit(os::ExitCodeOf(signal));
  });
  const absl::Status status = run->Run();
  if (status.ok()) return 0;
  Fail(run->Name(), status);
  return termination.signal() != 0 ? os::ExitCodeOf(termination.signal()) : 1;
}

int Main(int argc, char** argv) {
  const SystemClock clock;
  os::Termination termination;
  net::SilenceGrpcLog();
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail("server", parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  const absl::StatusOr<proto::Job> job = os::ReadJob(arguments.job_path, *parsed);
  if (!job.ok()) return Fail("server", job.status());
  const absl::StatusOr<ServerRunOptions> options = MakeOptions(arguments, *job);
  if (!options.ok()) return Fail("server", options.status());
  return RunUntilSignal(*options, clock, termination);
}

}  // namespace
}  // namespace crossover::ps

int main(int argc, char** argv) { return crossover::ps::Main(argc, argv); }
