// What a network lab imitates, as text and as figures: "1gbit", "1gbit,0.5ms,loss=1%",
// "worker=1gbit,server=10gbit,0.5ms", "wan,queue=1mb", or "loopback" for no lab.
//
// A text is a list of items between commas:
//   RATE          500kbit, 100mbit, 2.5gbit; of every link, each direction by itself
//   ROLE=RATE     for the links of that role alone (worker, server)
//   DELAY         50us, 0.5ms, 1s; one way, between any two nodes
//   loss=P%       of the frames between any two nodes
//   queue=SIZE    64kb, 2mb; what a switch port holds for its link (k = 1000);
//                 unless given, DefaultQueueBytes
// or a preset first, which the items after it change: 1gbe = 1gbit,50us;
// wan = 100mbit,10ms. (The preset 100mbit is simply a rate.) Numbers are plain decimals.
// Pure; errors are InvalidArgument and say what was found, what is allowed and a fix.
#ifndef CROSSOVER_LAB_NETWORK_SPEC_H_
#define CROSSOVER_LAB_NETWORK_SPEC_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace crossover::lab {

inline constexpr int64_t kQueueBytesMin = 32'000;
// 16 ms of the rate (2 MB at 1 Gbit/s), 256 kB to 4 MB: what
// a port of a switch for such links can have of its memory. 2 MB if not limited.
int64_t DefaultQueueBytes(double rate_bits_per_s);

// The link between a node and the switch.
struct LinkSpec {
  double rate_bits_per_s = 0;       // on the wire, each direction; 0: not limited
  double delay_us = 0;              // added to what the node sends
  double loss_fraction = 0;         // of frames; between two nodes the larger of theirs counts
  int64_t queue_bytes = 2'000'000;  // waiting at the switch for this link
  bool operator==(const LinkSpec&) const = default;
};

struct NetworkSpec {
  // "worker" and "server"; empty: no lab.
  std::map<std::string, LinkSpec> links;

  bool shaped() const { return !links.empty(); }
  // A role that the text does not name has an unlimited link.
  LinkSpec LinkOf(const std::string& role) const;
  double delay_us() const;
  double loss_fraction() const;
  // The same network as seen by a job whose compute takes time_scale times as long and
  // whose gradients are bytes_scale times smaller: rate / (time_scale * bytes_scale),
  // delay * time_scale, queue / bytes_scale (at least kQueueBytesMin). Both > 0.
  NetworkSpec Scaled(double time_scale, double bytes_scale) const;
  bool operator==(const NetworkSpec&) const = default;
};

absl::StatusOr<NetworkSpec> ParseNetworkSpec(std::string_view text);

// The canonical text: ParseNetworkSpec gives the same network back (figures to six
// digits; a scaled network of several rates loses its queues).
std::string NetworkSpecText(const NetworkSpec& spec);

std::string RateText(double bits_per_s);  // "1gbit"
std::string DelayText(double us);         // "500us"

// Bytes of TCP payload a second on a link of that rate, with full frames: 1448 of every
// 1538 bytes (IEEE 802.3: preamble 8, header 14, FCS 4, gap 12; IPv4 20, TCP with
// timestamps 32).
double TcpPayloadBytesPerS(double rate_bits_per_s);

}  // namespace crossover::lab

#endif  // CROSSOVER_LAB_NETWORK_SPEC_H_
