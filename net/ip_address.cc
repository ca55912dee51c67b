#include "net/ip_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/check.h"

namespace crossover::net {
namespace {

constexpr std::array<unsigned char, 12> kIpv4InIpv6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

bool IpAddress::IsWildcard() const { return bytes == std::array<unsigned char, 16>{}; }

bool IpAddress::IsLoopback() const {
  if (!ipv6) return bytes[0] == 127;
  return bytes[15] == 1 &&
         std::all_of(bytes.begin(), bytes.end() - 1, [](unsigned char byte) { return byte == 0; });
}

bool IpAddress::IsLinkLocal() const {
  return ipv6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

bool IpAddress::IsMulticast() const { return ipv6 ? bytes[0] == 0xff : (bytes[0] & 0xf0) == 224; }

bool IpAddress::IsUnroutable() const {
  if (IsWildcard() || IsMulticast()) return true;
  return !ipv6 && (bytes[0] == 0 || bytes[0] >= 240);
}

std::optional<IpAddress> ParseIpAddress(std::string_view text) {
  const std::string terminated(text);
  IpAddress address;
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  if (std::equal(kIpv4InIpv6.begin(), kIpv4InIpv6.end(), address.bytes.begin())) {
    IpAddress inner;
    std::copy(address.bytes.begin() + kIpv4InIpv6.size(), address.bytes.end(), inner.bytes.begin());
    return inner;
  }
  address.ipv6 = true;
  return address;
}

std::string FormatIpAddress(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN];
  const int family = address.ipv6 ? AF_INET6 : AF_INET;
  CROSSOVER_CHECK(inet_ntop(family, address.bytes.data(), text, sizeof text) != nullptr,
                  "every address has a text");
  return text;
}

IpPrefix MakePrefix(const IpAddress& address, int bits) {
  CROSSOVER_CHECK(bits >= 0 && bits <= address.bits(), "a prefix lies within the address");
  IpPrefix prefix{address, bits};
  for (int byte = 0; byte < 16; ++byte) {
    const int kept = std::clamp(bits - 8 * byte, 0, 8);
    prefix.address.bytes[byte] &= static_cast<unsigned char>(0xff00 >> kept);
  }
  return prefix;
}

bool IpPrefix::Contains(const IpAddress& other) const {
  return other.ipv6 == address.ipv6 && MakePrefix(other, bits).address == address;
}

std::string FormatPrefix(const IpPrefix& prefix) {
  return absl::StrCat(FormatIpAddress(prefix.address), "/", prefix.bits);
}

}  // namespace crossover::net
