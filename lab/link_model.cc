#include "lab/link_model.h"

#include <algorithm>
#include <cmath>

namespace crossover::lab {
namespace {

int64_t SerialisationNs(const LinkSpec& link, int64_t wire_bytes) {
  if (link.rate_bits_per_s <= 0) return 0;
  return std::llround(static_cast<double>(wire_bytes) * 8e9 / link.rate_bits_per_s);
}

}  // namespace

LinkModel::LinkModel(const std::vector<LinkSpec>& ports, uint64_t seed) : random_(seed) {
  for (const LinkSpec& link : ports) ports_.push_back({.link = link});
}

LinkModel::Arrival LinkModel::Transmit(int port_index, int64_t wire_bytes, int64_t now_ns) {
  Port& port = ports_[port_index];
  const int64_t begin = std::max({port.sends_until_ns, port.empty_at_ns, now_ns - kCatchUpNs});
  port.sends_until_ns = begin + SerialisationNs(port.link, wire_bytes);
  const int64_t delay_ns = std::llround(port.link.delay_us * 1e3);
  return {.first_bit_ns = begin + delay_ns, .last_bit_ns = port.sends_until_ns + delay_ns};
}

std::optional<int64_t> LinkModel::Enqueue(int port_index, const Arrival& arrival,
                                          int64_t wire_bytes) {
  Port& port = ports_[port_index];
  const int64_t begin = std::max(arrival.first_bit_ns, port.receives_until_ns);
  const double waiting_bytes =
      static_cast<double>(begin - arrival.first_bit_ns) * port.link.rate_bits_per_s / 8e9;
  if (waiting_bytes > static_cast<double>(port.link.queue_bytes)) return std::nullopt;
  port.receives_until_ns =
      std::max(arrival.last_bit_ns, begin + SerialisationNs(port.link, wire_bytes));
  return port.receives_until_ns;
}

double LinkModel::Loss(int from, int to) const {
  return std::max(ports_[from].link.loss_fraction, ports_[to].link.loss_fraction);
}

int64_t LinkModel::SegmentsBeforeLoss(int from, int to, int64_t segments) {
  const double loss = Loss(from, to);
  if (loss <= 0) return segments;
  for (int64_t passed = 0; passed < segments; ++passed) {
    // 53 random bits: the same draws from the same seed with every standard library.
    if (static_cast<double>(random_() >> 11) * 0x1p-53 < loss) return passed;
  }
  return segments;
}

}  // namespace crossover::lab
