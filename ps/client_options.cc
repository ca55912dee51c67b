#include "ps/client_options.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "net/unix_socket.h"
#include "ps/wire.h"

namespace crossover::ps {
namespace {

// Its Unix socket, or "".
std::string UnixSocketOf(const ClientOptions& options, size_t server) {
  return server < options.unix_sockets.size() ? options.unix_sockets[server] : "";
}

}  // namespace

std::string ClientOptions::TargetOf(int server) const {
  const std::string unix_socket = UnixSocketOf(*this, server);
  return unix_socket.empty() ? servers[server] : net::UnixSocketUri(unix_socket);
}

std::string ClientOptions::DescribeRoutes() const {
  std::vector<std::string> near;
  std::vector<std::string> far;
  for (size_t server = 0; server < servers.size(); ++server) {
    std::vector<std::string>& names = UnixSocketOf(*this, server).empty() ? far : near;
    names.push_back(net::ProcessName(net::Role::kServer, static_cast<int>(server)));
  }
  std::vector<std::string> routes;
  if (!near.empty()) {
    routes.push_back(absl::StrCat("through Unix sockets to ", absl::StrJoin(near, ", ")));
  }
  if (!far.empty()) routes.push_back(absl::StrCat("through TCP to ", absl::StrJoin(far, ", ")));
  return absl::StrJoin(routes, "; ");
}

ClientOptions ClientOptionsOf(const proto::Job& job, const net::Identity& identity,
                              std::span<const net::RosterMember> servers) {
  ClientOptions options;
  options.identity = identity;
  for (const net::RosterMember& server : servers) {
    options.servers.push_back(server.data_address);
    const bool here = job.ps().unix_sockets() && net::UnixSocketListens(server.unix_socket);
    options.unix_sockets.push_back(here ? server.unix_socket : "");
  }
  options.part_bytes = job.ps().part_bytes();
  options.credits = job.ps().credits();
  options.channels = job.ps().channels();
  options.wire = WireTypeOf(job);
  options.connect_s = job.deadlines().join_s();
  options.step_s = job.deadlines().step_s();
  return options;
}

}  // namespace crossover::ps
