// Whether one host reaches another over TCP, how fast and how soon. A secret keeps strangers
// from the server, and tells it from another program that has the address.
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_PAIR_PROBE_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_PAIR_PROBE_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "net/socket.h"

namespace crossover::experiments {

struct PairFigures {
  double rtt_us = 0;       // 64 bytes there and back, idle: median of 30
  double bytes_per_s = 0;  // of payload, counted where it arrived
};

// Answers probes until its destruction, on threads of its own. A connection that says
// nothing for some seconds is closed; at most 64 are served.
class ProbeServer {
 public:
  // Listens on the address, which is this host's. `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<ProbeServer>> Start(const std::string& address,
                                                            const Clock& clock);
  ~ProbeServer();
  std::string address() const;  // with the port
  const std::string& secret() const { return secret_; }

 private:
  ProbeServer(net::UniqueFd listener, const Clock& clock);
  void Accept();
  void Serve(int fd);

  const net::UniqueFd listener_;
  const std::string secret_;
  const Clock& clock_;
  std::atomic<bool> stopping_{false};
  std::thread accepting_;
  std::vector<std::thread> serving_;  // the accepting thread's
};

// Connects to a server ("host:port") and measures for about so long. Blocks, at most
// seconds + 20 s. Errors name the address and say what failed.
absl::StatusOr<PairFigures> ProbePeer(const std::string& address, const std::string& secret,
                                      double seconds, const Clock& clock);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_PAIR_PROBE_H_
