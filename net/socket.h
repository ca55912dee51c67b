// The few socket calls that the TCP endpoint needs, with errors that name the
// address. Every socket is non-blocking, closed on exec, and never raises SIGPIPE.
#ifndef CROSSOVER_NET_SOCKET_H_
#define CROSSOVER_NET_SOCKET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace crossover::net {

using os::UniqueFd;

// "Connection refused"
std::string ErrnoText(int error);

// A listening socket at an address of this host; port 0 chooses one. A taken port
// and an address that is not this host's are errors that name it. `congestion_control`: "cubic",
// or whatever this host has and allows, for all connections that it accepts; "" leaves it to the
// host. It has to be chosen before a connection is made: one that begins under bbr is paced for
// ever, whatever it is told later.
absl::StatusOr<UniqueFd> ListenOn(const std::string& host, int port,
                                  const std::string& congestion_control = "");

// Begins a connection to "host:port": the socket becomes writable once it is made
// or has failed (then ConnectionError is not 0). Resolving a name may block.
absl::StatusOr<UniqueFd> StartConnection(const std::string& address,
                                         const std::string& congestion_control = "");
int ConnectionError(int fd);  // errno, 0 if none

// The next waiting connection, or invalid if there is none; `from` is its address.
UniqueFd AcceptConnection(int listener_fd, std::string& from);

// "host:port" of the socket's own end; "" if it has none.
std::string OwnAddress(int fd);

// Small messages leave at once (no Nagle), and what came so far is acknowledged at once.
void SetNoDelay(int fd);

// Bytes that a TCP socket has taken and the other side's machine has not acknowledged.
int UndeliveredBytes(int fd);

// Throws away what has come, within reason. False if the other side has ended the connection.
bool DiscardInput(int fd);

// poll(2)'s time-out: rounded up, never negative (which would mean for ever).
int PollTimeoutMs(int64_t duration_ns);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_SOCKET_H_
