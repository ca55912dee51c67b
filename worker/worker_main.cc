// The worker binary: one rank of a run, started by the compare binary or by hand.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/emulation.h"
#include "core/flag_parser.h"
#include "core/job.h"
#include "core/status.h"
#include "net/identity.h"
#include "os/environment.h"
#include "os/files.h"
#include "process/member_process.h"
#include "worker/data/dataset.h"
#include "worker/models/blas.h"
#include "worker/models/model.h"
#include "worker/worker.h"

namespace crossover::worker {
namespace {

constexpr net::Role kRole = net::Role::kWorker;

struct Arguments {
  process::MemberFlags member;
  std::string about_blas;  // for the log; no flag
  std::string rendezvous_host = "rank0";
  std::string parameters_path;
  bool describe = false;
};

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags(
      "worker --rank=R --rendezvous=HOST:PORT --token_file=FILE [flags]",
      "Trains as one rank of a run. Every process of the run gets the same job, token and "
      "rendezvous.");
  process::AddRunFlags(arguments.member, flags);
  flags.Add({"rendezvous_host", "who listens there: rank0, or launcher if another program does",
             "rank0", SetText(&arguments.rendezvous_host)});
  process::AddProcessFlags(arguments.member, flags);
  flags.Add({"save_parameters", "file for the final parameters, raw little-endian fp32", "none",
             SetText(&arguments.parameters_path)});
  flags.Add({"describe", "print the model's number of parameters and end", "",
             SetBool(&arguments.describe), /*is_bool=*/true});
  flags.AddJobFields();
  flags.AddExample(
      "worker --rank=1 --rendezvous=10.0.0.1:29500 --token_file=token --interface=10.0.0.0/24",
      "the second worker of a run whose worker 0 is on 10.0.0.1");
  return flags;
}

absl::StatusOr<int64_t> Parameters(const proto::Job& job, Clock& clock) {
  // Without the buffers: a profile may be of a model that is larger than this machine.
  if (IsEmulated(job)) return EmulatedLayout(ScaledLayers(job.emulated())).length;
  ASSIGN_OR_RETURN(const DataSummary data, SummarizeData(job.data()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, MakeModel(job, data.shape, 0, clock));
  return model->layout().length;
}

absl::Status Describe(const proto::Job& job, Clock& clock) {
  ASSIGN_OR_RETURN(const int64_t parameters, Parameters(job, clock));
  std::printf("%lld\n", static_cast<long long>(parameters));
  return absl::OkStatus();
}

absl::StatusOr<WorkerOptions> MakeOptions(const Arguments& arguments, const proto::Job& job) {
  ASSIGN_OR_RETURN(const process::MemberSetup setup,
                   process::SetUpMember(arguments.member, kRole, WorkerProcesses(job), job.tls()));
  if (arguments.rendezvous_host != "rank0" && arguments.rendezvous_host != "launcher") {
    return absl::InvalidArgumentError(absl::StrCat("--rendezvous_host=", arguments.rendezvous_host,
                                                   ": allowed: rank0, launcher"));
  }
  WorkerOptions options;
  options.job = job;
  options.rank = setup.rank;
  options.token = setup.token;
  options.tls_pem = setup.tls_pem;
  options.rendezvous_address = setup.rendezvous_address;
  options.hosts_rendezvous = arguments.rendezvous_host == "rank0" && options.rank == 0;
  options.listen_host = setup.listen.host;
  options.listen_port = setup.listen.port;
  options.report_path = setup.report_path;
  if (!arguments.parameters_path.empty()) {
    options.parameters_path = os::ResolveUserPath(arguments.parameters_path);
    RETURN_IF_ERROR(Annotate(os::CheckWritable(options.parameters_path), "--save_parameters: "));
  }
  options.log = [rank = setup.rank](const std::string& line) {
    process::LogLine(kRole, rank, line);
  };
  if (!arguments.about_blas.empty()) options.log(arguments.about_blas);
  // Of the workers, only those that average among themselves are connected to.
  options.log(UsesCollectives(job)
                  ? absl::StrCat("listening on ", setup.listen_choice)
                  : absl::StrCat("not listening, since ", StrategyName(job.strategy()),
                                 " connects to no worker; else on ", setup.listen_choice));
  return options;
}

absl::StatusOr<process::MemberRun> Prepare(const Arguments& arguments, const proto::Job& job,
                                           Clock& clock) {
  if (arguments.describe) {
    return process::MemberRun{[] { return std::string("worker"); },
                              [job, &clock] { return Describe(job, clock); },
                              [](const absl::Status&) { return false; }};
  }
  ASSIGN_OR_RETURN(const WorkerOptions options, MakeOptions(arguments, job));
  const auto worker = std::make_shared<Worker>(options, clock);
  return process::MemberRun{[rank = options.rank] { return net::ProcessName(kRole, rank); },
                            [worker] { return worker->Run(); },
                            [worker](const absl::Status& why) { return worker->Stop(why); }};
}

int Main(int argc, char** argv) {
  SystemClock clock;
  Arguments arguments;
  arguments.about_blas = TakeBlasKernelsOfProcessor();  // while there is one thread
  const FlagSet flags = MakeFlags(arguments);
  return process::MemberMain(argc, argv, kRole, flags, arguments.member,
                             [&](const proto::Job& job) { return Prepare(arguments, job, clock); });
}

}  // namespace
}  // namespace crossover::worker

int main(int argc, char** argv) {
  const int code = crossover::worker::Main(argc, argv);
  // All of ours has ended. LibTorch's destructors would spend a tenth of a second more on taking
  // its operators back one by one.
  std::fflush(nullptr);
  std::_Exit(code);
}
