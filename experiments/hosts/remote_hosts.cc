#include "experiments/hosts/remote_hosts.h"

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/check.h"
#include "core/status.h"
#include "experiments/hosts/host_programs.h"
#include "experiments/hosts/sha256.h"
#include "experiments/hosts/ssh_command.h"
#include "net/ip_address.h"
#include "net/local_address.h"
#include "os/files.h"
#include "os/wall_time.h"

namespace crossover::experiments {
namespace {

constexpr double kPairS = 0.2;
constexpr double kTogetherS = 0.7;
constexpr double kProbeTimeoutS = 40;
constexpr double kHashTimeoutS = 300;
constexpr int kClockRounds = 5;

AgentMessage Do(const std::string& verb, nlohmann::json fields = nlohmann::json::object()) {
  AgentMessage message;
  message.fields = std::move(fields);
  message.fields["do"] = verb;
  return message;
}

std::string MachineKind() {
  utsname system{};
  uname(&system);
  return absl::StrCat(system.sysname, " ", system.machine);
}

// "CLIENT PORT SERVER PORT", as sshd says it; IPv6 may have a scope.
struct SshAddresses {
  std::string client;
  std::string server;
};
absl::StatusOr<SshAddresses> ParseSshConnection(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  const auto parsed = [](const std::string& word) {
    return net::ParseIpAddress(word.substr(0, word.find('%')));
  };
  if (words.size() != 4 || !parsed(words[0]) || !parsed(words[2])) {
    return absl::FailedPreconditionError(
        absl::StrCat("sshd did not say which addresses the connection has (\"", text, "\")"));
  }
  return SshAddresses{net::FormatIpAddress(*parsed(words[0])),
                      net::FormatIpAddress(*parsed(words[2]))};
}

bool IsLoopback(const std::string& address) {
  const auto parsed = net::ParseIpAddress(address);
  return parsed.has_value() && parsed->IsLoopback();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteHosts>> RemoteHosts::Connect(const RemoteOptions& options,
                                                                  const Clock& clock) {
  std::unique_ptr<RemoteHosts> hosts(new RemoteHosts(options, clock));
  RETURN_IF_ERROR(hosts->ConnectAll());
  RETURN_IF_ERROR(hosts->ChooseAddresses());
  RETURN_IF_ERROR(hosts->CopyPrograms());
  RETURN_IF_ERROR(hosts->CheckData());
  RETURN_IF_ERROR(hosts->MeasureClocks());
  RETURN_IF_ERROR(hosts->ProbePairs());
  hosts->MakeSites();
  return hosts;
}

RemoteHosts::~RemoteHosts() {
  if (!options_.clean) return;
  for (const auto& host : hosts_) host->connection->Request(Do("clean")).IgnoreError();
}

absl::Status RemoteHosts::ForEach(const std::function<absl::Status(Host&, HostFacts&)>& work) {
  std::vector<std::string> errors;
  absl::Status first;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const absl::Status status = work(*hosts_[i], report_.hosts[i]);
    if (status.ok()) continue;
    first.Update(status);
    errors.push_back(absl::StrCat(status.message(), " (", hosts_[i]->spec.where, ")"));
  }
  return absl::Status(first.code(), absl::StrJoin(errors, "\n  "));
}

absl::Status RemoteHosts::ConnectAll() {
  ConnectionOptions connection;
  ASSIGN_OR_RETURN(connection.agent, os::ReadFile(options_.agent_binary));
  Sha256 hash;
  hash.Add(connection.agent);
  connection.agent_sha256 = hash.Finish();
  const std::vector<std::string> bootstrap = BootstrapCommand(
      options_.folder, connection.agent_sha256.substr(0, 16),
      static_cast<int64_t>(connection.agent.size()), MachineKind(), options_.silence_s);
  host_of_spec_.assign(options_.hosts.size(), -1);
  for (const std::vector<int>* ranks : {&options_.placement.workers, &options_.placement.servers}) {
    for (const int spec : *ranks) host_of_spec_[spec] = 0;
  }
  for (size_t i = 0; i < options_.hosts.size(); ++i) {
    const HostSpec& spec = options_.hosts[i];
    if (host_of_spec_[i] < 0) {
      Say(absl::StrCat(spec.address, " (", spec.where, ") is not needed and left alone"));
      continue;
    }
    host_of_spec_[i] = static_cast<int>(hosts_.size());
    auto host = std::make_unique<Host>();
    host->spec = spec;
    connection.name = spec.address;
    connection.command = SshArguments(spec, options_.ssh_options, bootstrap);
    ASSIGN_OR_RETURN(host->connection, HostConnection::Open(connection, clock_));
    hosts_.push_back(std::move(host));
    report_.hosts.emplace_back().name = spec.address;
  }
  RETURN_IF_ERROR(ForEach([](Host& host, HostFacts& facts) -> absl::Status {
    RETURN_IF_ERROR(host.connection->Meet());
    const AgentMessage& hello = host.connection->hello();
    facts.hostname = hello.Text("hostname");
    facts.kernel = hello.Text("kernel");
    facts.cores = hello.Number("cores");
    return absl::OkStatus();
  }));
  const auto name_processes = [&](const std::vector<int>& specs, const char* role) {
    for (size_t rank = 0; rank < specs.size(); ++rank) {
      report_.hosts[host_of_spec_[specs[rank]]].processes.push_back(absl::StrCat(role, " ", rank));
    }
  };
  name_processes(options_.placement.workers, "worker");
  name_processes(options_.placement.servers, "server");
  return absl::OkStatus();
}

absl::Status RemoteHosts::ChooseAddresses() {
  RETURN_IF_ERROR(ForEach([this](Host& host, HostFacts& facts) -> absl::Status {
    ASSIGN_OR_RETURN(facts.address, AddressOf(host, facts));
    if (hosts_.size() == 1 || !IsLoopback(facts.address)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        facts.name, ": its processes would listen on ", facts.choice,
        ", where no other host reaches them; fix: interface=NAME or CIDR in its line, or an "
        "address of its network in place of ",
        facts.name));
  }));
  return ChooseLauncherAddress();
}

// By its line, by the flag, or else the address that ssh reached.
absl::StatusOr<std::string> RemoteHosts::AddressOf(Host& host, HostFacts& facts) {
  const std::string& selection =
      host.spec.interface.empty() ? options_.interface : host.spec.interface;
  std::string wanted = selection;
  if (selection.empty()) {
    const auto ssh = ParseSshConnection(host.connection->hello().Text("ssh_connection"));
    RETURN_IF_ERROR(Annotate(ssh.status(), absl::StrCat(facts.name, ": ")));
    wanted = ssh->server;
  }
  ASSIGN_OR_RETURN(const AgentMessage answer,
                   host.connection->Request(Do("address", {{"interface", wanted}})));
  facts.choice =
      selection.empty()
          ? absl::StrCat(answer.Text("choice").substr(0, answer.Text("choice").find(':')),
                         ": the address that ssh reached")
          : answer.Text("choice");
  return answer.Text("address");
}

// Where the rendezvous listens: the first host sees ssh come from there.
absl::Status RemoteHosts::ChooseLauncherAddress() {
  std::string selection = options_.launcher_interface;
  if (selection.empty()) {
    ASSIGN_OR_RETURN(
        const SshAddresses ssh,
        ParseSshConnection(hosts_.front()->connection->hello().Text("ssh_connection")));
    selection = ssh.client;
  }
  const absl::StatusOr<net::AddressChoice> choice = net::LocalAddress(selection);
  if (!choice.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the processes meet at this machine, which ", hosts_.front()->spec.address,
                     " sees as ", selection, ": ", choice.status().message(),
                     "; fix: --launcher-interface=NAME or CIDR of a network that all hosts reach"));
  }
  sites_.launcher.address = choice->address;
  Say(absl::StrCat("the processes meet at ", net::DescribeChoice(*choice)));
  return absl::OkStatus();
}

absl::Status RemoteHosts::CopyPrograms() {
  return ForEach([this](Host& host, HostFacts&) -> absl::Status {
    ASSIGN_OR_RETURN(host.paths.worker_binary, CopyProgram(host, "worker", options_.worker_binary));
    ASSIGN_OR_RETURN(host.paths.server_binary, CopyProgram(host, "server", options_.server_binary));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> RemoteHosts::CopyProgram(Host& host, const std::string& name,
                                                     const std::string& path) {
  return PutProgram(*host.connection, name, path, options_.say);
}

absl::Status RemoteHosts::CheckData() {
  std::map<std::string, FileHash> expected;
  for (const std::string& path : options_.data_files) {
    ASSIGN_OR_RETURN(expected[path], HashFile(path));
  }
  return ForEach([&](Host& host, HostFacts& facts) -> absl::Status {
    const bool trains =
        std::any_of(facts.processes.begin(), facts.processes.end(),
                    [](const std::string& process) { return process.starts_with("worker"); });
    if (!trains) return absl::OkStatus();
    for (const auto& [path, hash] : expected) {
      const absl::StatusOr<AgentMessage> answer =
          host.connection->Request(Do("hash", {{"path", path}}), kHashTimeoutS);
      RETURN_IF_ERROR(Annotate(answer.status(), "the job's data: "));
      if (answer->Text("sha256") == hash.sha256) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          facts.name, ": ", path, " is another file than this machine's (", answer->Number("size"),
          " bytes, SHA-256 ", answer->Text("sha256").substr(0, 12), "; here ", hash.bytes,
          " bytes, ", hash.sha256.substr(0, 12), "); fix: the same data on all hosts"));
    }
    return absl::OkStatus();
  });
}

absl::Status RemoteHosts::MeasureClocks() {
  return ForEach([this](Host& host, HostFacts& facts) -> absl::Status {
    facts.clock_error_s = 1e9;
    for (int round = 0; round < kClockRounds; ++round) {
      const int64_t before_ns = clock_.NowNs();
      const int64_t wall_ns = os::WallTimeNs();
      ASSIGN_OR_RETURN(const AgentMessage answer, host.connection->Request(Do("time")));
      const double half_s = static_cast<double>(clock_.NowNs() - before_ns) * 0.5e-9;
      if (half_s >= facts.clock_error_s) continue;
      facts.clock_error_s = half_s;
      facts.clock_offset_s =
          static_cast<double>(answer.Number("wall_ns") - wall_ns) * 1e-9 - half_s;
    }
    return absl::OkStatus();
  });
}

absl::Status RemoteHosts::ProbePairs() {
  ASSIGN_OR_RETURN(const std::unique_ptr<ProbeServer> launcher,
                   ProbeServer::Start(sites_.launcher.address, clock_));
  std::vector<AgentMessage> servers;
  RETURN_IF_ERROR(ForEach([&](Host& host, HostFacts& facts) -> absl::Status {
    ASSIGN_OR_RETURN(servers.emplace_back(),
                     host.connection->Request(Do("probe_listen", {{"address", facts.address}})));
    const absl::Status reached = host.connection
                                     ->Request(Do("probe", {{"address", launcher->address()},
                                                            {"secret", launcher->secret()},
                                                            {"seconds", 0.0}}),
                                               kProbeTimeoutS)
                                     .status();
    if (reached.ok()) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat(
        reached.message(),
        ", this machine, where the processes meet; fix: open its ports to the "
        "host, or --launcher-interface=NAME or CIDR of a network that all hosts reach"));
  }));
  const int hosts = static_cast<int>(hosts_.size());
  Say(absl::StrCat("measuring ", hosts * (hosts - 1), " pairs of hosts"));
  RETURN_IF_ERROR(ForEach([&](Host& host, HostFacts& facts) -> absl::Status {
    const int from = static_cast<int>(&facts - report_.hosts.data());
    for (int to = 0; to < hosts; ++to) {
      if (to == from) continue;
      const absl::StatusOr<AgentMessage> answer =
          host.connection->Request(Do("probe", {{"address", servers[to].Text("address")},
                                                {"secret", servers[to].Text("secret")},
                                                {"seconds", kPairS}}),
                                   kProbeTimeoutS);
      if (!answer.ok()) {
        return absl::UnavailableError(absl::StrCat(
            answer.status().message(), ", the host ", report_.hosts[to].name,
            "; fix: open TCP ports between the hosts, or interface=NAME or CIDR of a network "
            "that they share"));
      }
      report_.pairs.push_back({from, to, {answer->Real("rtt_us"), answer->Real("bytes_per_s")}});
    }
    return absl::OkStatus();
  }));
  return hosts == 1 ? absl::OkStatus() : ProbeTogether(servers);
}

absl::Status RemoteHosts::ProbeTogether(const std::vector<AgentMessage>& servers) {
  RETURN_IF_ERROR(ForEach([&](Host& host, HostFacts& facts) -> absl::Status {
    const size_t next = (static_cast<size_t>(&facts - report_.hosts.data()) + 1) % servers.size();
    return host.connection->Ask(Do("probe", {{"address", servers[next].Text("address")},
                                             {"secret", servers[next].Text("secret")},
                                             {"seconds", kTogetherS}}));
  }));
  return ForEach([&](Host& host, HostFacts&) -> absl::Status {
    ASSIGN_OR_RETURN(const AgentMessage answer, host.connection->TakeAnswer(kProbeTimeoutS));
    report_.together_bytes_per_s.push_back(answer.Real("bytes_per_s"));
    return absl::OkStatus();
  });
}

void RemoteHosts::MakeSites() {
  const auto site_of = [&](int spec) {
    const HostFacts& facts = report_.hosts[host_of_spec_[spec]];
    Site site;
    site.node = facts.name;
    site.address = facts.address;
    site.host = host_of_spec_[spec];
    return site;
  };
  sites_.workers.clear();
  for (const int spec : options_.placement.workers) sites_.workers.push_back(site_of(spec));
  if (options_.placement.servers.empty()) return;
  sites_.servers.clear();
  for (const int spec : options_.placement.servers) sites_.servers.push_back(site_of(spec));
}

RemoteHosts::Host& RemoteHosts::HostAt(const Site& site) const {
  CROSSOVER_CHECK(site.host >= 0 && site.host < static_cast<int>(hosts_.size()), "no such host");
  return *hosts_[site.host];
}

absl::Status RemoteHosts::Begin(const std::string& directory,
                                const std::vector<std::string>& files) {
  directory_ = directory;
  return ForEach([&](Host& host, HostFacts&) -> absl::Status {
    ASSIGN_OR_RETURN(host.paths.directory, host.connection->BeginRun());
    for (const std::string& name : files) {
      RETURN_IF_ERROR(host.connection->PutFile(
          absl::StrCat(directory, "/", name), absl::StrCat(host.paths.directory, "/", name), 0600));
    }
    return absl::OkStatus();
  });
}

RunPaths RemoteHosts::PathsAt(const Site& site) const { return HostAt(site).paths; }

absl::StatusOr<std::unique_ptr<StartedProcess>> RemoteHosts::Start(const Site& site,
                                                                   const ChildOptions& options) {
  return HostAt(site).connection->StartProcess(options);
}

absl::Status RemoteHosts::Collect(const Site& site, const std::string& name) {
  Host& host = HostAt(site);
  return host.connection->GetFile(absl::StrCat(host.paths.directory, "/", name),
                                  absl::StrCat(directory_, "/", name));
}

void RemoteHosts::End() {
  for (const auto& host : hosts_) host->connection->Ask(Do("end")).IgnoreError();
  // A host that is lost ends by itself, and the next run says so.
  for (const auto& host : hosts_) host->connection->TakeAnswer(10).IgnoreError();
}

}  // namespace crossover::experiments
