#include "net/tcp_handshake.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "net/little_endian.h"

namespace crossover::net {
namespace {

constexpr uint32_t kGreetingMagic = 0x48535258;  // "XRSH"
constexpr size_t kTextOffset = 32;

}  // namespace

GreetingBytes EncodeGreeting(const Greeting& greeting) {
  GreetingBytes bytes{};
  const size_t text_bytes = std::min(greeting.text.size(), kGreetingTextBytesMax);
  PutLittleEndian(kGreetingMagic, bytes.data());
  PutLittleEndian(greeting.version, bytes.data() + 4);
  PutLittleEndian(greeting.status, bytes.data() + 8);
  PutLittleEndian(greeting.rank, bytes.data() + 12);
  PutLittleEndian(greeting.world_size, bytes.data() + 16);
  PutLittleEndian(static_cast<uint16_t>(text_bytes), bytes.data() + 20);
  PutLittleEndian(static_cast<uint16_t>(greeting.channel), bytes.data() + 22);
  PutLittleEndian(greeting.fingerprint, bytes.data() + 24);
  std::memcpy(bytes.data() + kTextOffset, greeting.text.data(), text_bytes);
  return bytes;
}

absl::StatusOr<Greeting> DecodeGreeting(std::span<const std::byte, kGreetingBytes> bytes) {
  if (GetLittleEndian<uint32_t>(bytes.data()) != kGreetingMagic) {
    return absl::InvalidArgumentError("what came is no greeting of a Crossover job");
  }
  Greeting greeting;
  greeting.version = GetLittleEndian<uint32_t>(bytes.data() + 4);
  greeting.status = GetLittleEndian<uint32_t>(bytes.data() + 8);
  greeting.rank = GetLittleEndian<uint32_t>(bytes.data() + 12);
  greeting.world_size = GetLittleEndian<uint32_t>(bytes.data() + 16);
  const uint16_t text_bytes = GetLittleEndian<uint16_t>(bytes.data() + 20);
  greeting.channel = static_cast<Channel>(GetLittleEndian<uint16_t>(bytes.data() + 22));
  greeting.fingerprint = GetLittleEndian<uint64_t>(bytes.data() + 24);
  if (greeting.version != kHandshakeVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the other side speaks version ", greeting.version, " of the handshake, this one version ",
        kHandshakeVersion, ": run one build of Crossover everywhere"));
  }
  if (std::find(kChannels.begin(), kChannels.end(), greeting.channel) == kChannels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a greeting for the unknown channel ", static_cast<int>(greeting.channel)));
  }
  if (text_bytes > kGreetingTextBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a greeting with a text of ", text_bytes,
                                                   " bytes; at most ", kGreetingTextBytesMax,
                                                   " are allowed"));
  }
  greeting.text.assign(reinterpret_cast<const char*>(bytes.data() + kTextOffset), text_bytes);
  return greeting;
}

bool MayBeGreeting(std::span<const std::byte> first_bytes) {
  std::array<std::byte, sizeof(kGreetingMagic)> magic;
  PutLittleEndian(kGreetingMagic, magic.data());
  const size_t known = std::min(first_bytes.size(), magic.size());
  return std::equal(first_bytes.begin(), first_bytes.begin() + known, magic.begin());
}

Greeting MakeGreeting(const Identity& ours, int world_size, Channel channel) {
  Greeting greeting;
  greeting.channel = channel;
  greeting.rank = static_cast<uint32_t>(ours.rank);
  greeting.world_size = static_cast<uint32_t>(world_size);
  greeting.fingerprint = ours.job_fingerprint;
  greeting.text = ours.token;
  return greeting;
}

Greeting MakeRefusal(const absl::Status& why) {
  Greeting greeting;
  greeting.status = static_cast<uint32_t>(why.code());
  greeting.text = std::string(why.message());
  return greeting;
}

absl::Status CheckGreeting(const Identity& ours, int world_size, const Greeting& theirs,
                           const std::string& who) {
  RETURN_IF_ERROR(CheckCaller(ours, theirs.fingerprint, theirs.text, who));
  if (theirs.world_size != static_cast<uint32_t>(world_size)) {
    return absl::InvalidArgumentError(absl::StrCat(who, " believes in ", theirs.world_size,
                                                   " ranks, rank ", ours.rank, " in ", world_size));
  }
  if (theirs.rank >= static_cast<uint32_t>(world_size) ||
      theirs.rank == static_cast<uint32_t>(ours.rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat(who, " says that it is rank ", theirs.rank, "; rank ", ours.rank, " of ",
                     world_size, " expected another one of 0 to ", world_size - 1));
  }
  return absl::OkStatus();
}

}  // namespace crossover::net
