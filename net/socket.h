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
// and an address that is not this host's are errors that name it.
absl::StatusOr<UniqueFd> ListenOn(const std::string& host, int port);

// Begins a connection to "host:port": the socket becomes writable once it is made
// or has failed (then ConnectionError is not 0). Resolving a name may block.
absl::StatusOr<UniqueFd> StartConnection(const std::string& address);
int ConnectionError(int fd);  // errno, 0 if none

// The next waiting connection, or invalid if there is none; `from` is its address.
UniqueFd AcceptConnection(int listener_fd, std::string& from);

// "host:port" of the socket's own end; "" if it has none.
std::string OwnAddress(int fd);

// Small messages leave at once (no Nagle), and what came so far is acknowledged at once.
void SetNoDelay(int fd);

// The kernel's congestion control ("cubic") of a TCP socket, a listening one's for those that it
// accepts. Errors: one that this host lacks or does not allow, with what it allows.
absl::Status SetCongestionControl(int fd, const std::string& name);

// Bytes that a TCP socket has taken and the other side's machine has not acknowledged.
int UndeliveredBytes(int fd);

// Throws away what has come, within reason. False if the other side has ended the connection.
bool DiscardInput(int fd);

// poll(2)'s time-out: rounded up, never negative (which would mean for ever).
int PollTimeoutMs(int64_t duration_ns);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_SOCKET_H_
