// A user-space Ethernet switch: moves packets between the TAP devices of network
// namespaces at the times that lab/link_model.h gives. One thread; not thread-safe.
//
// Addresses: port i (from 0) has the MAC 02:78:6f:00:HI:LO with HI:LO = i + 1 (PortMac);
// anything else is flooded. A port's device is read only while its link is about to be
// free, so what waits, waits in the node's own queue and TCP feels it, as with a real NIC.
#ifndef CROSSOVER_LAB_SWITCH_H_
#define CROSSOVER_LAB_SWITCH_H_

#include <poll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "lab/link_model.h"
#include "lab/network_spec.h"
#include "lab/packet_pool.h"
#include "lab/segmentation.h"
#include "lab/switch_port.h"
#include "os/unique_fd.h"

namespace crossover::lab {

// The port that a frame (after the virtio header) is meant for; -1: all others.
int PortOf(std::span<const uint8_t> frame, int ports);

class Switch {
 public:
  // Makes the devices. `clock` is borrowed.
  static absl::StatusOr<std::unique_ptr<Switch>> Open(const std::vector<SwitchPort>& ports,
                                                      uint64_t seed, const Clock& clock);

  // Switches until `control_fd` is at its end. A line there is a command; each is answered
  // on reply_fd by a line, "ok ..." or "error ...":
  //   cut NAME | restore NAME | loss NAME 5% | stats
  void Run(int control_fd, int reply_fd);

  // A command's answer, without its end of line.
  std::string Obey(const std::string& command);

 private:
  // On its way over the sender's link.
  struct Flight {
    LinkModel::Arrival arrival;
    uint64_t order = 0;  // keeps frames of one arrival time in order
    int64_t wire_bytes = 0;
    Packet packet;
  };
  // In the queue of the receiver's link.
  struct Leaving {
    int64_t due_ns = 0;
    Packet packet;
  };
  struct Port {
    std::string name;
    os::UniqueFd tap;
    std::vector<Flight> flights;  // a heap: the first to arrive is in front
    std::deque<Leaving> leaving;
    bool is_empty = false;  // nothing was waiting at its device
    int64_t sent_bytes = 0, received_bytes = 0, dropped_frames = 0, lost_frames = 0;
  };

  Switch(std::vector<Port> ports, const std::vector<LinkSpec>& links, uint64_t seed,
         const Clock& clock);
  void Deliver(int to, int64_t now_ns);
  void Receive(int from, int64_t now_ns);
  void Forward(int from, const LinkModel::Arrival& arrival, const FrameInfo& info, Packet packet);
  void ForwardWithLoss(int from, int to, const LinkModel::Arrival& arrival, const FrameInfo& info,
                       std::span<const uint8_t> packet);
  void TakeOff(int to, const LinkModel::Arrival& arrival, int64_t wire_bytes, Packet packet);
  Packet Copy(std::span<const uint8_t> bytes);
  void Release(Packet packet);
  int64_t NextEventNs(int64_t now_ns) const;
  void Wait(int control_fd, int64_t now_ns, bool& control_ready);
  bool ReadControl(int control_fd, int reply_fd);
  int FindPort(const std::string& name) const;

  const Clock& clock_;
  LinkModel model_;
  std::vector<Port> ports_;
  PacketPool pool_;
  Packet scratch_;  // what the next packet is read into
  uint64_t order_ = 0;
  int64_t held_bytes_ = 0;  // in flight and in queues
  std::string control_text_;
  std::vector<pollfd> waits_;  // of ppoll
};

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_SWITCH_H_
