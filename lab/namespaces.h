// Named network namespaces, as `ip netns` keeps them: made, listed, deleted, entered.
// Names carry their owner's process: xo-PID-NODE, so that leftovers of a process that was
// killed are told from what a living one uses. All but the two pure functions need root.
#ifndef CROSSOVER_LAB_NAMESPACES_H_
#define CROSSOVER_LAB_NAMESPACES_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace crossover::lab {

// "xo-PID-NODE", or "xo-PID-LABEL-NODE" if the label is not "".
std::string NamespaceName(pid_t owner, std::string_view label, std::string_view node);
// Whose namespace it is; nothing if it is none of ours.
std::optional<pid_t> NamespaceOwner(std::string_view name);

// Names in order. No folder of names yet: none.
absl::StatusOr<std::vector<std::string>> ListNamespaces();
absl::Status AddNamespace(const std::string& name);
// Processes that live in it keep the nameless rest alive until they end.
absl::Status DeleteNamespace(const std::string& name);

// Deletes the namespaces whose owner has ended, never those of a living process (nor those
// of a process that got a dead one's number); returns their names. A leftover that another
// process deletes meanwhile is none.
absl::StatusOr<std::vector<std::string>> RemoveLeftovers();

// The calling thread is in the namespace until destruction, which puts it back; other
// threads stay where they are. What it makes meanwhile (sockets, threads, processes)
// belongs to the namespace for good. Destroyed by the thread that made it.
class ScopedNamespace {
 public:
  static absl::StatusOr<ScopedNamespace> Enter(const std::string& name);
  ScopedNamespace(ScopedNamespace&& other) noexcept = default;
  ScopedNamespace& operator=(ScopedNamespace&& other) = delete;
  ~ScopedNamespace();

 private:
  explicit ScopedNamespace(os::UniqueFd home) : home_(std::move(home)) {}
  os::UniqueFd home_;  // invalid: moved from
};

// Writes a file under /proc/sys/net as the namespace sees it: "ipv4/tcp_no_metrics_save".
absl::Status SetNetworkSetting(const std::string& name, const std::string& setting,
                               const std::string& value);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_NAMESPACES_H_
