// For tests: a TCP relay on loopback that can go silent (frozen: everything stays open,
// nothing moves, as when a host hangs) or cut its connections (as when a process is killed).
#ifndef CROSSOVER_NET_TCP_RELAY_H_
#define CROSSOVER_NET_TCP_RELAY_H_

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace crossover::net {

// Thread-safe. One thread moves the bytes of all connections.
class TcpRelay {
 public:
  // Relays what connects to address() to `target`, a host:port of 127.0.0.1.
  explicit TcpRelay(const std::string& target);
  ~TcpRelay();
  std::string address() const { return address_; }
  void Freeze() { SetState(State::kFrozen); }
  void Cut() { SetState(State::kCut); }  // and takes no new connections

 private:
  enum class State { kOpen, kFrozen, kCut, kEnded };
  void SetState(State state);
  void Loop();
  void Accept();
  // False if the connection has ended.
  static bool Move(int from, int to);
  void CloseAll();

  int target_port_ = 0;
  int listener_ = -1;
  int wake_[2] = {-1, -1};  // a pipe
  std::string address_;
  std::atomic<State> state_{State::kOpen};
  std::vector<std::pair<int, int>> connections_;  // the thread's
  std::thread thread_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_TCP_RELAY_H_
