// Hosts that are reached over real ssh: network namespaces of a lab with an sshd each, and its
// control node for the launcher. They share this machine's disk, so what a host must have of its
// own is bound over it in the mount namespace of its sshd. Needs root and sshd.
#ifndef CROSSOVER_TESTS_SSH_HOSTS_H_
#define CROSSOVER_TESTS_SSH_HOSTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "experiments/launch/child_process.h"
#include "lab/network_lab.h"

namespace crossover::tests {

// Why this machine can have none; "" otherwise, and then a failure is a test's.
std::string WhyNoSshHosts();

// For the main thread; blocks.
class SshHosts {
 public:
  // `directory` is for keys, logs and what is copied to the hosts; exists. Errors: the lab's or
  // ssh-keygen's.
  static absl::StatusOr<std::unique_ptr<SshHosts>> Up(int hosts, const std::string& directory);
  ~SshHosts();
  // Ends everything on the hosts, and the lab; a second call does nothing.
  absl::Status Down();

  // `key`: whose owner may come in ("key", or "strange_key", which flags() does not use). `before`:
  // shell words that make the host different, "mount --bind ... &&".
  absl::Status StartSshd(int host, const std::string& key = "key", const std::string& before = "");
  absl::Status StartAllSshds();

  lab::NetworkLab& lab() { return *lab_; }
  std::string Address(int host) const { return lab_->nodes()[host].address; }
  // Where a launcher runs, and the options of ssh, as after its -o, with which it reaches the
  // hosts; their --remote-dir.
  const std::string& launcher_namespace() const { return lab_->control().network_namespace; }
  std::vector<std::string> ssh_options() const;
  std::string remote_dir() const { return directory_ + "/remote"; }

  // Of all processes on the hosts but the sshds.
  std::vector<int> Running() const;
  // Of the runs, tokens and all; the programs may stay.
  std::vector<std::string> FilesOfRuns() const;

 private:
  explicit SshHosts(std::string directory);
  std::vector<int> Pids() const;

  const std::string directory_;
  SystemClock clock_;
  std::unique_ptr<lab::NetworkLab> lab_;
  std::vector<experiments::ChildProcess> sshds_;
};

}  // namespace crossover::tests

#endif  // CROSSOVER_TESTS_SSH_HOSTS_H_
