// The arithmetic of a switch with one full-duplex link a port: when a frame has been
// sent, when it arrives, when it leaves, and whether it is lost. It knows no device, no
// clock and no bytes; the caller passes the time and moves the frames.
//
//   Transmit   the node's link to the switch: frames follow one another at its rate, then
//              travel for its delay
//   Enqueue    the switch's link to a node: a finite queue, at that link's rate; call it in
//              the order of the arrivals' last_bit_ns
//
// Cut-through: a frame that meets no queue leaves as it arrives, so it is serialised once
// and not twice (for real frames of 1.5 KB at 1 Gbit/s this hides 12 us a switch).
//
// The caller may be late. A frame that is read late though it stood waiting is given the
// time at which the link would have taken it, at most kCatchUpNs ago; SawEmpty says when a
// port was seen with nothing waiting, so that silence earns no credit.
//
// Not thread-safe; nothing blocks. Times in ns of one arbitrary clock.
#ifndef CROSSOVER_LAB_LINK_MODEL_H_
#define CROSSOVER_LAB_LINK_MODEL_H_

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "lab/network_spec.h"

namespace crossover::lab {

class LinkModel {
 public:
  static constexpr int64_t kCatchUpNs = 2'000'000;

  // A frame's arrival at the far end of a node's link.
  struct Arrival {
    int64_t first_bit_ns = 0;
    int64_t last_bit_ns = 0;
  };

  LinkModel(const std::vector<LinkSpec>& ports, uint64_t seed);

  int64_t free_at_ns(int port) const { return ports_[port].sends_until_ns; }
  void SawEmpty(int port, int64_t now_ns) { ports_[port].empty_at_ns = now_ns; }
  Arrival Transmit(int port, int64_t wire_bytes, int64_t now_ns);

  // When the frame's last bit has left towards the port's node; nothing if the queue is
  // full (the frame is dropped).
  std::optional<int64_t> Enqueue(int port, const Arrival& arrival, int64_t wire_bytes);

  // How many of a frame's next segments get through before one is lost: 0 .. segments
  // (all of them). Draws; between two ports the larger loss counts.
  int64_t SegmentsBeforeLoss(int from, int to, int64_t segments);

  void SetCut(int port, bool cut) { ports_[port].cut = cut; }
  void SetLoss(int port, double fraction) { ports_[port].link.loss_fraction = fraction; }
  bool Passes(int from, int to) const { return !ports_[from].cut && !ports_[to].cut; }
  bool MayLose(int from, int to) const { return Loss(from, to) > 0; }

 private:
  struct Port {
    LinkSpec link;
    int64_t sends_until_ns = 0;  // node to switch
    int64_t empty_at_ns = 0;
    int64_t receives_until_ns = 0;  // switch to node
    bool cut = false;
  };
  double Loss(int from, int to) const;

  std::vector<Port> ports_;
  std::mt19937_64 random_;
};

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_LINK_MODEL_H_
