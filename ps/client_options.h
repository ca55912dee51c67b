// What a worker's client (ps/client.h) needs to know, and how it follows from job and roster.
#ifndef CROSSOVER_PS_CLIENT_OPTIONS_H_
#define CROSSOVER_PS_CLIENT_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/data_type.h"
#include "net/identity.h"
#include "net/roster.h"
#include "proto/job.pb.h"

namespace crossover::ps {

struct ClientOptions {
  net::Identity identity;            // this worker's
  std::vector<std::string> servers;  // addresses by rank
  // By rank: the Unix socket (net/unix_socket.h) through which to reach it instead; "" or beyond
  // the end: none.
  std::vector<std::string> unix_sockets;
  int64_t part_bytes = 0;              // the job's ps.part_bytes
  int64_t credits = 8;                 // the job's ps.credits
  int channels = 1;                    // the job's ps.channels
  DataType wire = DataType::kFloat32;  // WireTypeOf the job (ps/wire.h)
  // The learning-rate schedule's, equal on all workers: the servers apply it.
  int64_t total_steps = 0;
  double connect_s = 60;
  // Asked about every 100 ms while Connect waits; an error ends it with that status.
  // Called without a lock; may be empty.
  std::function<absl::Status()> cancelled;
  double step_s = 600;  // the job's deadlines.step_s: for each other wait

  // Where gRPC connects to for a server.
  std::string TargetOf(int server) const;
  // For the log: "through Unix sockets to server 0, server 2; through TCP to server 1".
  std::string DescribeRoutes() const;
};

// All but total_steps and cancelled. Looks which of the servers are on this host; never blocks.
ClientOptions ClientOptionsOf(const proto::Job& job, const net::Identity& identity,
                              std::span<const net::RosterMember> servers);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_CLIENT_OPTIONS_H_
