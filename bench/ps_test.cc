// Times push and pull through the parameter servers, with real processes on loopback or in the
// network lab, and checks every element of what comes back.
#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/ps/push_pull_plan.h"
#include "bench/ps/push_pull_record.h"
#include "bench/ps/push_pull_run.h"
#include "bench/shared/sizes.h"
#include "bench/shared/test_lab.h"
#include "core/flag_parser.h"
#include "core/status.h"
#include "experiments/launch/signal_waiter.h"
#include "net/grpc_setup.h"
#include "os/files.h"
#include "os/termination.h"

namespace crossover::bench {
namespace {

struct Arguments {
  PushPullPlan plan;
  int64_t workers = 1;
  int64_t servers = 1;
  std::string placement = "dedicated";
  std::string network;
  std::string sizes = "64M";
};

absl::Status Run(Arguments& arguments, experiments::SignalWaiter& signals, Clock& clock) {
  std::string folder = std::filesystem::temp_directory_path() / "ps_test-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", folder));
  }
  const std::shared_ptr<void> removal(nullptr, [&folder](void*) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  });
  PushPullRunOptions options;
  options.plan = arguments.plan;
  options.plan.workers = static_cast<int>(arguments.workers);
  options.plan.servers = static_cast<int>(arguments.servers);
  options.directory = folder;
  options.worker_binary = os::SiblingBinary("bench/ps_worker");
  options.server_binary = os::SiblingBinary("ps/server");
  const bool dedicated = arguments.placement == "dedicated";
  std::unique_ptr<TestLab> lab;
  if (NamesLab(arguments.network)) {
    TestLabOptions lab_options;
    lab_options.network = arguments.network;
    lab_options.worker_nodes = options.plan.workers;
    lab_options.server_nodes = dedicated ? options.plan.servers : 0;
    lab_options.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    ASSIGN_OR_RETURN(lab, BringUpLab(lab_options, signals));
    options.sites = lab->sites;
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ParseSizes(arguments.sizes));
  for (const int64_t bytes : sizes) {
    options.plan.bytes = bytes;
    ASSIGN_OR_RETURN(const PushPullRecord record, RunPushPull(options, signals, clock));
    std::printf("%s: median %.1f us, %.3f to %.3f ms, wrong %lld\n%s\n", SizeText(bytes).c_str(),
                record.time_us, record.time_us_min * 1e-3, record.time_us_max * 1e-3,
                static_cast<long long>(record.wrong), WritePushPull(record).c_str());
    if (record.wrong > 0) return absl::DataLossError("wrong elements");
  }
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "ps_test: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  SystemClock clock;
  net::SilenceGrpcLog();
  Arguments arguments;
  FlagSet flags("ps_test [flags]", "Times push and pull and checks every element.");
  flags.Add({"workers", "", "1", SetWhole(&arguments.workers, 1, 1024)});
  flags.Add({"servers", "", "1", SetWhole(&arguments.servers, 1, 1024)});
  flags.Add({"placement", "dedicated or colocated", "dedicated", SetText(&arguments.placement)});
  flags.Add({"network", "in the network lab: 1gbit; 1gbit,0.5ms (as root)", "loopback",
             SetText(&arguments.network)});
  flags.Add({"sizes", "of the model", "64M", SetText(&arguments.sizes)});
  AddPushPullFlags(arguments.plan, flags);
  flags.Add({"set", "a field of the job's ps: ps.credits=4; may be given several times", "",
             AppendText(&arguments.plan.settings), false, /*repeatable=*/true});
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail(parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  experiments::SignalWaiter signals;  // before any thread
  const absl::Status status = Run(arguments, signals, clock);
  if (status.ok()) return 0;
  Fail(status);
  return absl::IsCancelled(status) ? os::ExitCodeOf(signals.ended_by()) : 1;
}

}  // namespace
}  // namespace crossover::bench

int main(int argc, char** argv) { return crossover::bench::Main(argc, argv); }
