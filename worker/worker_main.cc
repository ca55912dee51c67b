// The worker binary: one rank of a run, started by the compare binary or by hand.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

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
#include "worker/data/dataset.h"
#include "worker/models/model.h"
#include "worker/worker.h"

namespace crossover::worker {
namespace {

struct Arguments {
  int64_t rank = 0;
  std::string rendezvous;
  std::string rendezvous_host = "rank0";
  std::string job_path;
  std::string token_path;
  std::string listen;
  std::string interface;
  std::string report_path;
  std::string parameters_path;
  bool describe = false;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags(
      "worker --rank=R --rendezvous=HOST:PORT --token_file=FILE [flags]",
      "Trains as one rank of a run. Every process of the run gets the same job, token and "
      "rendezvous.");
  flags.BeginGroup("The run");
  flags.Add({"rank", "this worker's rank, from 0", "0", SetWhole(&arguments.rank, 0, 1023)});
  flags.Add({"rendezvous", "where the processes meet; worker 0 listens there", "",
             SetText(&arguments.rendezvous)});
  flags.Add({"rendezvous_host", "who listens there: rank0, or launcher if another program does",
             "rank0", SetText(&arguments.rendezvous_host)});
  flags.Add({"token_file", "file with the run's secret token, the same for all processes", "",
             SetText(&arguments.token_path)});
  flags.Add({"job", "the job, as textproto", "the default job", SetText(&arguments.job_path)});
  flags.BeginGroup("This process");
  flags.Add({"listen", "ADDRESS:PORT for other workers' connections; port 0 chooses one",
             "loopback, port 0", SetText(&arguments.listen)});
  flags.Add({"interface", "listen on this interface or address instead, on a port of its choice",
             "", SetText(&arguments.interface)});
  flags.Add({"report", "file for what was measured (a serialised ProcessReport)", "none",
             SetText(&arguments.report_path)});
  flags.Add({"save_parameters", "file for the final parameters, raw little-endian fp32", "none",
             SetText(&arguments.parameters_path)});
  flags.Add({"describe", "print the model's number of parameters and end", "",
             SetBool(&arguments.describe), /*is_bool=*/true});
  flags.AddJobFields();
  flags.AddExample(
      "worker --rank=1 --rendezvous=10.0.0.1:29500 --token_file=token --interface=eth0",
      "the second worker of a run whose worker 0 is on 10.0.0.1");
  return flags;
}

absl::Status Describe(const proto::Job& job) {
  ASSIGN_OR_RETURN(const DataSummary data, SummarizeData(job.data()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, MakeModel(job, data.shape));
  std::printf("%lld\n", static_cast<long long>(model->layout().length));
  return absl::OkStatus();
}

absl::StatusOr<WorkerOptions> MakeOptions(const Arguments& arguments, const proto::Job& job) {
  WorkerOptions options;
  options.job = job;
  options.rank = static_cast<int>(arguments.rank);
  if (options.rank >= WorkerProcesses(job)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rank=", options.rank, ": the job has ", WorkerProcesses(job),
                     " worker processes; allowed: 0 to ", WorkerProcesses(job) - 1));
  }
  RETURN_IF_ERROR(Annotate(net::ParseHostPort(arguments.rendezvous).status(), "--rendezvous: "));
  options.rendezvous_address = arguments.rendezvous;
  if (arguments.rendezvous_host != "rank0" && arguments.rendezvous_host != "launcher") {
    return absl::InvalidArgumentError(absl::StrCat("--rendezvous_host=", arguments.rendezvous_host,
                                                   ": allowed: rank0, launcher"));
  }
  options.hosts_rendezvous = arguments.rendezvous_host == "rank0" && options.rank == 0;
  if (arguments.token_path.empty()) {
    return absl::InvalidArgumentError("--token_file: missing; give the run's token file");
  }
  ASSIGN_OR_RETURN(options.token, net::ReadTokenFile(os::ResolveUserPath(arguments.token_path)));
  if (!arguments.listen.empty() && !arguments.interface.empty()) {
    return absl::InvalidArgumentError("--listen and --interface: give one of the two");
  }
  if (!arguments.listen.empty()) {
    absl::StatusOr<net::HostPort> listen = net::ParseHostPort(arguments.listen);
    RETURN_IF_ERROR(Annotate(listen.status(), "--listen: "));
    ASSIGN_OR_RETURN(options.listen_host, net::LocalAddress(listen->host));
    options.listen_port = listen->port;
  } else {
    ASSIGN_OR_RETURN(options.listen_host, net::LocalAddress(arguments.interface));
  }
  options.report_path = os::ResolveUserPath(arguments.report_path);
  options.parameters_path = os::ResolveUserPath(arguments.parameters_path);
  const std::string who = net::ProcessName(net::Role::kWorker, options.rank);
  options.log = [who](const std::string& line) {
    std::printf("%s: %s\n", who.c_str(), line.c_str());
    std::fflush(stdout);
  };
  return options;
}

int Fail(const std::string& who, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), std::string(status.message()).c_str());
  return 1;
}

int RunUntilSignal(const WorkerOptions& options, Clock& clock, os::Termination& termination) {
  // Shared with the signal's thread, which outlives this function.
  const auto worker = std::make_shared<Worker>(options, clock);
  termination.OnSignal([worker](int signal) {
    const bool told = worker->Stop(absl::CancelledError(
        absl::StrCat("told to stop by signal ", signal, " (", strsignal(signal), ")")));
    if (!told) _exit(os::ExitCodeOf(signal));
  });
  const absl::Status status = worker->Run();
  if (status.ok()) return 0;
  Fail(net::ProcessName(net::Role::kWorker, options.rank), status);
  return termination.signal() != 0 ? os::ExitCodeOf(termination.signal()) : 1;
}

int Main(int argc, char** argv) {
  SystemClock clock;
  os::Termination termination;
  net::SilenceGrpcLog();
  Arguments arguments;
  const FlagSet flags = MakeFlags(arguments);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail("worker", parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  const absl::StatusOr<proto::Job> job = os::ReadJob(arguments.job_path, *parsed);
  if (!job.ok()) return Fail("worker", job.status());
  if (arguments.describe) {
    const absl::Status status = Describe(*job);
    return status.ok() ? 0 : Fail("worker", status);
  }
  const absl::StatusOr<WorkerOptions> options = MakeOptions(arguments, *job);
  if (!options.ok()) return Fail("worker", options.status());
  return RunUntilSignal(*options, clock, termination);
}

}  // namespace
}  // namespace crossover::worker

int main(int argc, char** argv) { return crossover::worker::Main(argc, argv); }
