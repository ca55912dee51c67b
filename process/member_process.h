// What the worker and the server binary share: the flags that every process of a run
// takes, what they mean, signals, log lines and exit codes. For the main thread.
#ifndef CROSSOVER_PROCESS_MEMBER_PROCESS_H_
#define CROSSOVER_PROCESS_MEMBER_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/flag_parser.h"
#include "net/address.h"
#include "net/identity.h"
#include "os/termination.h"
#include "proto/job.pb.h"

namespace crossover::process {

struct MemberFlags {
  int64_t rank = 0;
  std::string rendezvous;
  std::string token_path;
  std::string tls_path;
  std::string job_path;
  std::string listen;
  std::string interface;
  std::string report_path;
};
// The groups "The run" and "This process"; a binary may add to each after it. `values`
// is borrowed and outlives every Parse.
void AddRunFlags(MemberFlags& values, FlagSet& flags);
void AddProcessFlags(MemberFlags& values, FlagSet& flags);

// What the flags say, checked.
struct MemberSetup {
  int rank = 0;
  std::string rendezvous_address;
  std::string token;
  std::string tls_pem;        // "" where the job has no TLS
  net::HostPort listen;       // an address of this host; port 0 chooses one
  std::string listen_choice;  // "10.0.0.1 (eth0): the only address in 10.0.0.0/8"
  std::string report_path;    // "" for none
};
// `processes`: how many of this role the job has; `tls`: the job's. Blocks to read the secrets'
// files.
// Errors name the flag, what was found and what is allowed or the fix.
absl::StatusOr<MemberSetup> SetUpMember(const MemberFlags& values, net::Role role, int processes,
                                        bool tls);

// One process's part in the run. The functions share what they work on, since a
// signal's thread may call `stop` until the program ends.
struct MemberRun {
  std::function<std::string()> name;  // "worker 2", for the last line of a failure
  std::function<absl::Status()> run;  // blocks to the end
  // Called on another thread when a signal comes: tells the others. False where there is
  // nobody to tell; then the program says why and ends at once.
  std::function<bool(const absl::Status& why)> stop;
};

// Runs it to its end or a signal. Returns the exit code: 0 done, 1 failed (the last line on stderr
// says who and why), 128 + the signal's number after SIGTERM or SIGINT.
int RunMember(const MemberRun& member, os::Termination& termination);

// A main: reads the flags and the job, has the run prepared from it and runs it. Returns
// RunMember's exit code. To be called before any thread is started.
int MemberMain(int argc, char** argv, net::Role role, const FlagSet& flags,
               const MemberFlags& values,
               const std::function<absl::StatusOr<MemberRun>(const proto::Job&)>& prepare);

// Prints "worker 2: LINE" on stdout, so that nothing is lost when the process is killed.
void LogLine(net::Role role, int rank, const std::string& line);

}  // namespace crossover::process

#endif  // CROSSOVER_PROCESS_MEMBER_PROCESS_H_
