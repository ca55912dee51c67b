#include "bench/shared/member_run.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/status.h"
#include "net/address.h"
#include "net/identity.h"
#include "os/files.h"

namespace crossover::bench {
namespace {

constexpr double kEndS = 2;             // for processes to end by themselves, and again when asked
constexpr char kTokenName[] = "token";  // in the directory, here and on other hosts

}  // namespace

absl::StatusOr<std::unique_ptr<MemberRun>> MemberRun::Start(Options options,
                                                            experiments::SignalWaiter& signals,
                                                            Clock& clock) {
  options.rendezvous.identity.token = net::MakeToken();
  std::unique_ptr<MemberRun> run(new MemberRun(std::move(options), signals, clock));
  RETURN_IF_ERROR(run->Begin(clock));
  return run;
}

MemberRun::MemberRun(Options options, experiments::SignalWaiter& signals, Clock& clock)
    : options_(std::move(options)),
      token_path_(absl::StrCat(options_.directory, "/", kTokenName)),
      processes_(signals, clock) {}

MemberRun::~MemberRun() {
  processes_.TakeDown(0);
  unlink(token_path_.c_str());
  options_.hosts->End();
}

absl::Status MemberRun::Begin(const Clock& clock) {
  RETURN_IF_ERROR(os::WriteFile(token_path_, options_.rendezvous.identity.token + "\n", 0600));
  ASSIGN_OR_RETURN(rendezvous_, net::RendezvousServer::Start(options_.rendezvous, clock));
  return options_.hosts->Begin(options_.directory, {kTokenName});
}

absl::StatusOr<int> MemberRun::Add(const std::string& name, const experiments::Site& site,
                                   std::vector<std::string> arguments) {
  experiments::ChildOptions child;
  child.log_path =
      absl::StrCat(options_.directory, "/", absl::StrReplaceAll(name, {{" ", "-"}}), ".log");
  child.arguments = std::move(arguments);
  const std::string there = options_.hosts->PathsAt(site).directory;
  child.arguments.insert(child.arguments.end(),
                         {absl::StrCat("--rendezvous=", rendezvous_->address()),
                          absl::StrCat("--listen=", net::FormatHostPort({site.address, 0})),
                          absl::StrCat("--token_file=", there, "/", kTokenName)});
  ASSIGN_OR_RETURN(std::unique_ptr<experiments::StartedProcess> started,
                   options_.hosts->Start(site, child));
  const int pid = started->pid();
  const bool elsewhere = site.host >= 0;
  processes_.Add(elsewhere ? absl::StrCat(name, " at ", site.address) : name, child.log_path,
                 std::move(started));
  return pid;
}

absl::Status MemberRun::Watch(double time_s) {
  absl::Status status = processes_.Watch(time_s, [this] { return rendezvous_->status(); });
  if (status.ok()) return status;
  // A stream breaks a moment before or after its process is seen to end.
  if (!absl::IsCancelled(status)) processes_.WaitForEnds(kEndS / 4);
  status = Cause(status);
  rendezvous_->Abort(std::string(status.message()));
  processes_.WaitForEnds(kEndS);
  processes_.TakeDown(kEndS);
  return status;
}

// What the rendezvous saw is the cause; how processes ended is a detail of it.
absl::Status MemberRun::Cause(const absl::Status& status) {
  if (absl::IsCancelled(status)) return status;
  const absl::Status seen = rendezvous_->status();
  if (seen.ok()) return status;
  return absl::Status(seen.code(), absl::StrCat(seen.message(), processes_.Killed()));
}

}  // namespace crossover::bench
