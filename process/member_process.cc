#include "process/member_process.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "core/status.h"
#include "net/grpc_setup.h"
#include "net/local_address.h"
#include "os/allocator.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/job_file.h"

namespace crossover::process {
namespace {

absl::Status ChooseListenAddress(const MemberFlags& values, MemberSetup& setup) {
  if (!values.listen.empty() && !values.interface.empty()) {
    return absl::InvalidArgumentError("--listen and --interface: give one of the two");
  }
  std::string selection = values.interface;
  std::string flag = absl::StrCat("--interface=", values.interface, ": ");
  if (!values.listen.empty()) {
    flag = absl::StrCat("--listen=", values.listen, ": ");
    absl::StatusOr<net::HostPort> listen = net::ParseHostPort(values.listen);
    RETURN_IF_ERROR(Annotate(listen.status(), flag));
    selection = listen->host;
    setup.listen.port = listen->port;
  }
  absl::StatusOr<net::AddressChoice> choice = net::LocalAddress(selection);
  RETURN_IF_ERROR(Annotate(choice.status(), flag));
  setup.listen.host = choice->address;
  setup.listen_choice = net::DescribeChoice(*choice);
  return absl::OkStatus();
}

int Fail(const std::string& who, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), std::string(status.message()).c_str());
  return 1;
}

}  // namespace

void AddRunFlags(MemberFlags& values, FlagSet& flags) {
  flags.BeginGroup("The run");
  flags.Add(
      {"rank", "this process's rank in its role, from 0", "0", SetWhole(&values.rank, 0, 1023)});
  flags.Add({"rendezvous", "HOST:PORT where the processes meet; worker 0 listens there", "",
             SetText(&values.rendezvous)});
  flags.Add({"token_file", "file with the run's secret token, the same for all processes", "",
             SetText(&values.token_path)});
  flags.Add({"tls_file",
             "of a job with tls: file with the run's certificate and key (PEM), the same for all "
             "processes",
             "", SetText(&values.tls_path)});
  flags.Add({"job", "the job, as textproto", "the default job", SetText(&values.job_path)});
}

void AddProcessFlags(MemberFlags& values, FlagSet& flags) {
  flags.BeginGroup("This process");
  flags.Add({"interface",
             "where to listen for workers, on a port of the system's choice: a name (eth0), an "
             "address, a CIDR (10.0.0.0/8), a list of these, or all but these (^docker0,lo)",
             "loopback", SetText(&values.interface)});
  flags.Add({"listen", "ADDRESS:PORT instead, for a fixed port", "", SetText(&values.listen)});
  flags.Add({"report", "file for what was measured (a serialised ProcessReport)", "none",
             SetText(&values.report_path)});
}

absl::StatusOr<MemberSetup> SetUpMember(const MemberFlags& values, net::Role role, int processes,
                                        bool tls) {
  MemberSetup setup;
  setup.rank = static_cast<int>(values.rank);
  if (setup.rank >= processes) {
    return absl::InvalidArgumentError(absl::StrCat("--rank=", setup.rank, ": the job has ",
                                                   processes, " ", net::RoleName(role),
                                                   " processes; allowed: 0 to ", processes - 1));
  }
  const absl::StatusOr<net::HostPort> rendezvous = net::ParseHostPort(values.rendezvous);
  RETURN_IF_ERROR(Annotate(rendezvous.status(), "--rendezvous: "));
  if (rendezvous->port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rendezvous=", values.rendezvous,
                     ": a port of the system's choice, which no other process would know; "
                     "allowed: a port from 1 to 65535"));
  }
  setup.rendezvous_address = values.rendezvous;
  if (values.token_path.empty()) {
    return absl::InvalidArgumentError("--token_file: missing; give the run's token file");
  }
  ASSIGN_OR_RETURN(setup.token, net::ReadTokenFile(os::ResolveUserPath(values.token_path)));
  if (tls != !values.tls_path.empty()) {
    return absl::InvalidArgumentError(
        tls ? "--tls_file: missing; the job has tls: true, so give the run's certificate and key"
            : "--tls_file: the job has no TLS; fix: --tls=true for every process, or leave it out");
  }
  if (tls) {
    ASSIGN_OR_RETURN(setup.tls_pem, net::ReadTlsFile(os::ResolveUserPath(values.tls_path)));
  }
  RETURN_IF_ERROR(ChooseListenAddress(values, setup));
  if (!values.report_path.empty()) {
    setup.report_path = os::ResolveUserPath(values.report_path);
    RETURN_IF_ERROR(Annotate(os::CheckWritable(setup.report_path), "--report: "));
  }
  return setup;
}

int RunMember(const MemberRun& member, os::Termination& termination) {
  termination.OnSignal([stop = member.stop, name = member.name](int signal) {
    const absl::Status why = absl::CancelledError(
        absl::StrCat("told to stop by signal ", signal, " (", strsignal(signal), ")"));
    if (stop(why)) return;
    Fail(name(), why);
    _exit(os::ExitCodeOf(signal));
  });
  const absl::Status status = member.run();
  if (status.ok()) return 0;
  Fail(member.name(), status);
  return termination.signal() != 0 ? os::ExitCodeOf(termination.signal()) : 1;
}

int MemberMain(int argc, char** argv, net::Role role, const FlagSet& flags,
               const MemberFlags& values,
               const std::function<absl::StatusOr<MemberRun>(const proto::Job&)>& prepare) {
  os::KeepFreedMemory();
  net::PrepareGrpc();
  os::Termination termination;
  const std::string program(net::RoleName(role));
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail(program, parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  const std::string name = net::ProcessName(role, static_cast<int>(values.rank));
  const absl::StatusOr<proto::Job> job = os::ReadJob(values.job_path, *parsed);
  if (!job.ok()) return Fail(name, job.status());
  const absl::StatusOr<MemberRun> member = prepare(*job);
  if (!member.ok()) return Fail(name, member.status());
  return RunMember(*member, termination);
}

void LogLine(net::Role role, int rank, const std::string& line) {
  std::printf("%s: %s\n", net::ProcessName(role, rank).c_str(), line.c_str());
  std::fflush(stdout);
}

}  // namespace crossover::process
