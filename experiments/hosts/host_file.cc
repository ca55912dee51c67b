#include "experiments/hosts/host_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"

namespace crossover::experiments {
namespace {

constexpr int kPortMax = 65535;
constexpr char kAddressCharacters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:%";

absl::Status CheckName(absl::string_view what, absl::string_view text, absl::string_view allowed) {
  if (!text.empty() && text.front() != '-' &&
      text.find_first_not_of(allowed) == absl::string_view::npos) {
    return absl::OkStatus();
  }
  const bool has_user = text.find('@') != absl::string_view::npos;
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", text, "\"; allowed: letters, digits and -_.:%, not - first",
                   has_user ? "; fix: write the user as user=NAME" : ""));
}

absl::Status SetNumber(absl::string_view key, absl::string_view value, int max, int& target) {
  int number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < 1 || number > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, "=", value, "; allowed: a whole number from 1 to ", max));
  }
  target = number;
  return absl::OkStatus();
}

absl::Status SetRole(absl::string_view value, HostRole& target) {
  if (value == "worker") {
    target = HostRole::kWorker;
  } else if (value == "server") {
    target = HostRole::kServer;
  } else if (value == "any") {
    target = HostRole::kAny;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("role=", value, "; allowed: worker, server, any"));
  }
  return absl::OkStatus();
}

absl::Status SetOption(absl::string_view word, std::set<std::string>& seen, HostSpec& host) {
  const absl::string_view key = word.substr(0, word.find('='));
  const absl::string_view value = word.substr(std::min(key.size() + 1, word.size()));
  if (value.empty() ||
      (key != "slots" && key != "role" && key != "user" && key != "port" && key != "interface")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", word,
                     "\"; allowed after the address: slots=N, role=worker|server|any, user=NAME, "
                     "port=N, interface=NAME or CIDR"));
  }
  if (!seen.emplace(std::string(key)).second)
    return absl::InvalidArgumentError(absl::StrCat(key, "= is given twice"));
  if (key == "slots") return SetNumber(key, value, kSlotsMax, host.slots);
  if (key == "port") return SetNumber(key, value, kPortMax, host.port);
  if (key == "role") return SetRole(value, host.role);
  if (key == "interface") {
    host.interface = std::string(value);
    return absl::OkStatus();
  }
  host.user = std::string(value);
  return CheckName("user", value, kAddressCharacters);
}

absl::StatusOr<HostSpec> ParseLine(const std::vector<absl::string_view>& words) {
  HostSpec host;
  host.address = std::string(words.front());
  RETURN_IF_ERROR(CheckName("address", host.address, kAddressCharacters));
  std::set<std::string> seen;
  for (size_t i = 1; i < words.size(); ++i) RETURN_IF_ERROR(SetOption(words[i], seen, host));
  return host;
}

int SlotsOf(const std::vector<HostSpec>& hosts, HostRole except) {
  int slots = 0;
  for (const HostSpec& host : hosts) slots += host.role == except ? 0 : host.slots;
  return slots;
}

// Puts up to `count` processes into the slots of those hosts, in order.
void Fill(const std::vector<HostSpec>& hosts, int count, const std::set<int>& indices,
          std::vector<int>& placed) {
  for (const int index : indices) {
    for (int slot = 0; slot < hosts[index].slots; ++slot) {
      if (static_cast<int>(placed.size()) == count) return;
      placed.push_back(index);
    }
  }
}

std::set<int> HostsOf(const std::vector<HostSpec>& hosts, HostRole role) {
  std::set<int> indices;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].role == role) indices.insert(static_cast<int>(i));
  }
  return indices;
}

}  // namespace

absl::StatusOr<std::vector<HostSpec>> ParseHosts(absl::string_view text, absl::string_view name) {
  std::vector<HostSpec> hosts;
  std::map<std::string, std::string> where_of;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::string where = absl::StrCat(name, ":", number);
    line = line.substr(0, line.find('#'));
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    absl::StatusOr<HostSpec> host = ParseLine(words);
    RETURN_IF_ERROR(Annotate(host.status(), absl::StrCat(where, ": ")));
    host->where = where;
    const std::string key = absl::StrCat(host->user, "@", host->address, " ", host->port);
    const auto [first, is_new] = where_of.emplace(key, where);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": ", host->address, " is in ",
                                                     first->second,
                                                     " already; fix: one line with more slots"));
    }
    hosts.push_back(*std::move(host));
  }
  if (hosts.empty() || hosts.size() > kHostsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": ", hosts.size(), " hosts; allowed: 1 to ", kHostsMax,
        ", one a line: ADDRESS [slots=N] [role=worker|server|any] [user=NAME] [port=N] "
        "[interface=NAME or CIDR]"));
  }
  return hosts;
}

absl::StatusOr<HostPlacement> PlaceOnHosts(const std::vector<HostSpec>& hosts, int workers,
                                           int servers, proto::Comparison::Placement placement) {
  HostPlacement placed;
  std::set<int> for_workers = HostsOf(hosts, HostRole::kAny);
  for_workers.merge(HostsOf(hosts, HostRole::kWorker));
  Fill(hosts, workers, for_workers, placed.workers);
  if (static_cast<int>(placed.workers.size()) < workers) {
    return absl::InvalidArgumentError(
        absl::StrCat(workers, " workers need as many slots; hosts of role worker or any have ",
                     SlotsOf(hosts, HostRole::kServer), "; fix: more slots or --workers=N"));
  }
  // A host that the file gives to servers is not left idle.
  const bool own_hosts = !HostsOf(hosts, HostRole::kServer).empty();
  placed.placement = own_hosts ? proto::Comparison::dedicated : placement;
  if (placed.placement == proto::Comparison::colocated) {
    for (int server = 0; server < servers; ++server) {
      placed.servers.push_back(placed.workers[server % workers]);
    }
    return placed;
  }
  Fill(hosts, servers, HostsOf(hosts, HostRole::kServer), placed.servers);
  std::set<int> unused = HostsOf(hosts, HostRole::kAny);
  for (const int index : placed.workers) unused.erase(index);
  Fill(hosts, servers, unused, placed.servers);
  if (static_cast<int>(placed.servers.size()) < servers) {
    return absl::InvalidArgumentError(absl::StrCat(
        servers, " servers need as many slots on hosts without workers, and there are ",
        placed.servers.size(),
        " (of role server, or of role any and free); fix: hosts with "
        "role=server, or --comparison.placement=colocated (beside the workers)"));
  }
  return placed;
}

}  // namespace crossover::experiments
