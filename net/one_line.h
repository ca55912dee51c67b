// Makes text that came from somebody else fit to be shown. Pure, thread-safe.
#ifndef CROSSOVER_NET_ONE_LINE_H_
#define CROSSOVER_NET_ONE_LINE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace crossover::net {

// Enough for the reason of a failure with all that names it.
inline constexpr size_t kLineBytesMax = 2000;

// At most `max_bytes` of printable ASCII: what goes into a log line, a status or a
// header, whatever came off the wire. The rest becomes '?'.
std::string OneLine(std::string_view text, size_t max_bytes = kLineBytesMax);

}  // namespace crossover::net

#endif  // CROSSOVER_NET_ONE_LINE_H_
