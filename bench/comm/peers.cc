#include "bench/comm/peers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/shared/process_set.h"
#include "core/status.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace crossover::bench {
namespace {

constexpr double kEndS = 3;
constexpr double kBuildS = 600;
constexpr char kMpirun[] = "/usr/bin/mpirun";

struct OpenMpiAlgorithm {
  const char* name;
  const char* number;  // of coll_tuned_allreduce_algorithm; "": its own choice
};
constexpr OpenMpiAlgorithm kOpenMpiAlgorithms[] = {{"default", ""},
                                                   {"recursive_doubling", "3"},
                                                   {"ring", "4"},
                                                   {"segmented_ring", "5"},
                                                   {"rabenseifner", "6"}};

const experiments::Site& SiteOf(const PeerOptions& options, int rank) {
  return options.sites[rank % options.sites.size()];
}

// What every peer's program is told.
std::vector<std::string> LoopFlags(const TestPlan& plan) {
  return {absl::StrCat("--sizes=", absl::StrJoin(plan.sizes, ",")),
          absl::StrCat("--budget_s=", plan.budget_s), absl::StrCat("--warmup=", plan.warmup),
          absl::StrCat("--iterations=", plan.iterations),
          absl::StrCat("--in_place=", plan.in_place ? "in" : "out")};
}

// OpenMP would give Gloo's sums threads of their own.
std::vector<std::pair<std::string, std::string>> Environment(const PeerOptions& options) {
  std::vector<std::pair<std::string, std::string>> environment = {{"OMP_NUM_THREADS", "1"}};
  if (!options.plan.congestion_control.empty()) {
    environment.emplace_back("PEER_CONGESTION_CONTROL", options.plan.congestion_control);
    environment.emplace_back("LD_PRELOAD", options.programs + "/congestion_control.so");
  }
  return environment;
}

absl::StatusOr<os::UniqueFd> OutputFile(const std::string& path) {
  os::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  return fd;
}

absl::Status StartGloo(const PeerRun& run, const PeerOptions& options, const std::string& output,
                       ProcessSet& processes) {
  const std::string store = options.directory + "/gloo-store";
  std::error_code error;
  std::filesystem::remove_all(store, error);  // an earlier context's addresses
  RETURN_IF_ERROR(os::MakeDirectory(store));
  for (int rank = 0; rank < options.ranks; ++rank) {
    experiments::ChildOptions child;
    child.log_path = absl::StrCat(options.directory, "/gloo-", rank, ".log");
    child.network_namespace = SiteOf(options, rank).network_namespace;
    child.environment = Environment(options);
    child.arguments = {options.programs + "/gloo_all_reduce",
                       absl::StrCat("--rank=", rank),
                       absl::StrCat("--ranks=", options.ranks),
                       absl::StrCat("--store=", store),
                       absl::StrCat("--address=", SiteOf(options, rank).address),
                       absl::StrCat("--algorithms=", run.algorithms)};
    for (const std::string& flag : LoopFlags(options.plan)) child.arguments.push_back(flag);
    os::UniqueFd fd;
    if (rank == 0) {
      ASSIGN_OR_RETURN(fd, OutputFile(output));
      child.output_fd = fd.get();
    }
    RETURN_IF_ERROR(processes.Start(absl::StrCat("gloo's rank ", rank), child).status());
  }
  return absl::OkStatus();
}

// mpirun's arguments for where the ranks are.
std::vector<std::string> OpenMpiPlaces(const PeerRun& run, const PeerOptions& options) {
  std::vector<std::string> arguments;
  const bool in_lab = !options.node_names.empty();
  const std::string interface = in_lab ? "eth0" : "lo";
  const auto set = [&arguments](const std::string& name, const std::string& value) {
    arguments.insert(arguments.end(), {"--mca", name, value});
  };
  set("oob_tcp_if_include", interface);
  if (run.transport == "shared_memory") {
    set("btl", "vader,self");
  } else {
    set("btl", "tcp,self");
    set("btl_tcp_if_include", interface);
  }
  if (!in_lab) return arguments;
  set("plm", "rsh");
  set("plm_rsh_agent", options.programs + "/enter_node");
  std::vector<std::string> hosts;
  for (const std::string& node : options.node_names) hosts.push_back(node + ":1");
  arguments.insert(arguments.end(), {"-H", absl::StrJoin(hosts, ",")});
  return arguments;
}

absl::Status StartOpenMpi(const PeerRun& run, const PeerOptions& options, const std::string& output,
                          ProcessSet& processes) {
  experiments::ChildOptions child;
  child.log_path = options.directory + "/openmpi.log";
  child.environment = Environment(options);
  child.environment.emplace_back("TMPDIR", options.directory);  // for its session's files
  std::vector<std::string>& arguments = child.arguments;
  if (!options.node_names.empty()) {
    // A namespace's name ends in its node's.
    const std::string space = options.sites.front().network_namespace;
    child.environment.emplace_back(
        "PEER_NAMESPACE_PREFIX", space.substr(0, space.size() - options.node_names.front().size()));
  }
  arguments = {
      kMpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml",
      "ob1"};
  if (options.ranks > static_cast<int>(std::thread::hardware_concurrency())) {
    arguments.insert(arguments.end(), {"--mca", "mpi_yield_when_idle", "1"});
  }
  for (const std::string& word : OpenMpiPlaces(run, options)) arguments.push_back(word);
  for (const OpenMpiAlgorithm& algorithm : kOpenMpiAlgorithms) {
    if (run.algorithms != algorithm.name || *algorithm.number == '\0') continue;
    arguments.insert(arguments.end(), {"--mca", "coll_tuned_use_dynamic_rules", "1", "--mca",
                                       "coll_tuned_allreduce_algorithm", algorithm.number});
  }
  for (const auto& [name, value] : Environment(options)) {
    arguments.insert(arguments.end(), {"-x", name});
  }
  arguments.insert(
      arguments.end(),
      {"-n", absl::StrCat(options.ranks), options.programs + "/openmpi_all_reduce",
       absl::StrCat("--transport=", run.transport), absl::StrCat("--algorithm=", run.algorithms)});
  for (const std::string& flag : LoopFlags(options.plan)) arguments.push_back(flag);
  ASSIGN_OR_RETURN(const os::UniqueFd fd, OutputFile(output));
  child.output_fd = fd.get();
  return processes.Start("Open MPI's mpirun", child).status();
}

}  // namespace

absl::StatusOr<std::vector<PeerRun>> PeerRuns(const std::string& wanted,
                                              const std::vector<std::string>& transports) {
  bool gloo = wanted == "true";
  bool openmpi = wanted == "true";
  for (const absl::string_view library : absl::StrSplit(wanted, ',')) {
    if (library == "gloo") {
      gloo = true;
    } else if (library == "openmpi") {
      openmpi = true;
    } else if (library != "true") {
      return absl::InvalidArgumentError(
          absl::StrCat("--peers=", wanted, ": allowed: gloo, openmpi, or --peers alone for both"));
    }
  }
  std::vector<PeerRun> runs;
  for (const std::string& transport : transports) {
    if (gloo && transport == "tcp") {
      runs.push_back({"gloo", transport, "ring,ring_chunked,halving_doubling,bcube"});
    }
    for (const OpenMpiAlgorithm& algorithm : kOpenMpiAlgorithms) {
      if (openmpi) runs.push_back({"openmpi", transport, algorithm.name});
    }
  }
  if (runs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--peers=", wanted, ": Gloo does not use shared memory; fix: --transport=tcp"));
  }
  return runs;
}

absl::Status CheckComparable(const TestPlan& plan) {
  const auto refuse = [](const std::string& flag) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--peers: ", flag, ": only AllReduce of fp32 sums is timed with the peers' libraries"));
  };
  if (plan.op != allreduce::Kind::kAllReduce) {
    return refuse(absl::StrCat("--op=", WordFor(plan.op)));
  }
  if (plan.type != DataType::kFloat32) return refuse(absl::StrCat("--type=", NameOf(plan.type)));
  if (plan.reduce != ReduceOp::kSum) return refuse(absl::StrCat("--reduce=", NameOf(plan.reduce)));
  if (plan.in_place && plan.out_of_place) {
    return absl::InvalidArgumentError("--peers: one place at a time; fix: --in_place=in or out");
  }
  return absl::OkStatus();
}

absl::Status BuildPeers(const std::string& programs, const std::string& directory,
                        experiments::SignalWaiter& signals, Clock& clock, std::string& said) {
  experiments::ChildOptions child;
  child.log_path = directory + "/build-peers.log";
  child.arguments = {os::SiblingBinary("bench/comm_test") + ".runfiles/crossover/bench/peers/build",
                     programs};
  ProcessSet processes(signals, clock);
  RETURN_IF_ERROR(processes.Start("bench/peers/build", child).status());
  RETURN_IF_ERROR(processes.Watch(kBuildS));
  ASSIGN_OR_RETURN(said, os::ReadFile(child.log_path));
  return absl::OkStatus();
}

bool PeerIsBuilt(const std::string& programs, const std::string& library) {
  return access(absl::StrCat(programs, "/", library, "_all_reduce").c_str(), X_OK) == 0;
}

absl::StatusOr<std::vector<Record>> RunPeer(const PeerRun& run, const PeerOptions& options,
                                            experiments::SignalWaiter& signals, Clock& clock) {
  const std::string output = absl::StrCat(options.directory, "/", run.library, ".jsonl");
  ProcessSet processes(signals, clock);
  absl::Status status = run.library == "gloo" ? StartGloo(run, options, output, processes)
                                              : StartOpenMpi(run, options, output, processes);
  if (status.ok()) status = processes.Watch(options.time_s);
  if (!status.ok()) {
    processes.TakeDown(kEndS);
    return Annotate(status,
                    absl::StrCat(run.library, " ", run.algorithms, " over ", run.transport, ": "));
  }
  ASSIGN_OR_RETURN(const std::string lines, os::ReadFile(output));
  return ReadRecords(lines);
}

}  // namespace crossover::bench
