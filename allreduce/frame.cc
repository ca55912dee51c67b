#include "allreduce/frame.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/fnv1a.h"
#include "net/little_endian.h"
#include "net/one_line.h"

namespace crossover::allreduce {
namespace {

constexpr uint32_t kMagic = 0x46535258;  // "XRSF"
constexpr uint16_t kVersion = 1;
// Positions in the frame.
enum : size_t {
  kAtMagic = 0,
  kAtVersion = 4,
  kAtKind = 6,
  kAtAlgorithm = 7,
  kAtType = 8,
  kAtOp = 9,
  kAtReserved = 10,
  kAtSender = 12,
  kAtJob = 16,
  kAtGroup = 24,
  kAtStep = 28,
  kAtSequence = 32,
  kAtCount = 40,
  kAtBytes = 48,
  kAtRoot = 56,
  kAtReserved2 = 60,
  kAtName = 64,
};
static_assert(kAtName + kNameBytesMax == kFrameBytes);

// Ranks and numbers of values have to fit signed integers, bytes too.
constexpr uint64_t kRankMax = std::numeric_limits<int32_t>::max();
constexpr uint64_t kCountMax = std::numeric_limits<int64_t>::max() / 8;

std::string_view NameOnWire(std::string_view name) {
  return name.substr(0, std::min(name.find('\0'), kNameBytesMax));
}

template <typename Number>
std::optional<std::string> Unknown(const char* what, Number number, Number last) {
  if (number >= 1 && number <= last) return std::nullopt;
  return absl::StrCat(what, " ", number, ", of which there are 1 to ", last);
}

// Numbers that name nothing.
std::optional<std::string> UnknownNumber(const std::byte* bytes) {
  const auto number = [&](size_t at) { return std::to_integer<int>(bytes[at]); };
  if (auto why = Unknown("kind", number(kAtKind), int{static_cast<uint8_t>(Kind::kBarrier)})) {
    return why;
  }
  if (auto why = Unknown("type", number(kAtType), int{static_cast<uint8_t>(DataType::kInt64)})) {
    return why;
  }
  if (auto why = Unknown("op", number(kAtOp), int{static_cast<uint8_t>(ReduceOp::kMax)})) {
    return why;
  }
  const Kind kind{static_cast<uint8_t>(number(kAtKind))};
  const Algorithm algorithm{static_cast<uint8_t>(number(kAtAlgorithm))};
  if (!HasAlgorithm(kind, algorithm)) {
    return absl::StrCat("algorithm ", number(kAtAlgorithm), ", which ", NameOf(kind),
                        " does not have");
  }
  return std::nullopt;
}

// Figures that no collective has.
std::optional<std::string> ImpossibleFigure(const Frame& frame) {
  const uint64_t value_bytes = BytesOf(frame.type);
  if (frame.sender > kRankMax) return absl::StrCat("sender ", frame.sender);
  if (frame.root > kRankMax) return absl::StrCat("root ", frame.root);
  if (frame.root != 0 && frame.kind != Kind::kBroadcast) {
    return absl::StrCat("a root, ", frame.root, ", of a collective without one");
  }
  if (frame.count > kCountMax) return absl::StrCat(frame.count, " values");
  if (frame.count != 0 && frame.kind == Kind::kBarrier) {
    return absl::StrCat("a barrier with ", frame.count, " values");
  }
  if (frame.bytes > frame.count * value_bytes || frame.bytes % value_bytes != 0) {
    return absl::StrCat("a message of ", frame.bytes, " bytes of a buffer of ", frame.count, " ",
                        NameOf(frame.type));
  }
  return std::nullopt;
}

bool AreZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

absl::Status NoFrame(const std::string& why) {
  return absl::DataLossError(absl::StrCat("what came is no frame of a collective: ", why));
}

// "AllReduce 41 (ring, sum of 1024 fp32 "bucket 3", step 2": Describe without its end.
std::string DescribeOpen(const Frame& frame) {
  std::string text =
      absl::StrCat(NameOf(frame.kind), " ", frame.sequence, " (", NameOf(frame.algorithm));
  if (frame.kind == Kind::kAllReduce || frame.kind == Kind::kReduceScatter) {
    absl::StrAppend(&text, ", ", NameOf(frame.op), " of ", frame.count, " ", NameOf(frame.type));
  } else if (frame.kind != Kind::kBarrier) {
    absl::StrAppend(&text, ", ", frame.count, " ", NameOf(frame.type));
  }
  if (frame.kind == Kind::kBroadcast) absl::StrAppend(&text, " from rank ", frame.root);
  if (!frame.name.empty()) absl::StrAppend(&text, " \"", net::OneLine(frame.name), "\"");
  absl::StrAppend(&text, ", step ", frame.step);
  return text;
}

std::string DescribeMessage(const Frame& frame) {
  return absl::StrCat(DescribeOpen(frame), ", ", frame.bytes, " bytes)");
}

// What differs, as "count (1000 here, 1024 there)"; in the order in which it explains most.
std::vector<std::string> Differences(int peer, const Frame& here, const Frame& there) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const auto& ours, const auto& theirs) {
    if (ours == theirs) return;
    differences.push_back(absl::StrCat(what, " (", ours, " here, ", theirs, " there)"));
  };
  const auto hex = [](uint64_t number) { return absl::StrFormat("0x%016x", number); };
  compare("job", hex(here.job), hex(there.job));
  compare("group", here.group, there.group);
  compare("sender", static_cast<uint32_t>(peer), there.sender);
  compare("collective", std::string(NameOf(here.kind)), std::string(NameOf(there.kind)));
  compare("sequence number", here.sequence, there.sequence);
  compare("name", absl::StrCat("\"", net::OneLine(NameOnWire(here.name)), "\""),
          absl::StrCat("\"", net::OneLine(there.name), "\""));
  compare("type", std::string(NameOf(here.type)), std::string(NameOf(there.type)));
  compare("operation", std::string(NameOf(here.op)), std::string(NameOf(there.op)));
  compare("count", here.count, there.count);
  compare("root", here.root, there.root);
  compare("algorithm", std::string(NameOf(here.algorithm)), std::string(NameOf(there.algorithm)));
  compare("step", here.step, there.step);
  compare("bytes of the message", here.bytes, there.bytes);
  return differences;
}

const char* FixOf(const Frame& here, const Frame& there) {
  if (here.job != there.job) return "start all ranks with one job";
  if (here.group != there.group) return "make the same communicators on every rank, in one order";
  return "call the same collectives on every rank, in one order and with the same arguments";
}

}  // namespace

std::string NameInFrame(std::string_view name) {
  if (name.size() <= kNameBytesMax) return std::string(name);
  const std::string digest = absl::StrFormat("~%08x", Fnv1a(std::as_bytes(std::span(name))) >> 32);
  return absl::StrCat(absl::string_view(name.data(), kNameBytesMax - digest.size()), digest);
}

FrameBytes EncodeFrame(const Frame& frame) {
  FrameBytes bytes{};
  const auto put = [&](auto value, size_t at) { net::PutLittleEndian(value, bytes.data() + at); };
  put(kMagic, kAtMagic);
  put(kVersion, kAtVersion);
  put(static_cast<uint8_t>(frame.kind), kAtKind);
  put(static_cast<uint8_t>(frame.algorithm), kAtAlgorithm);
  put(static_cast<uint8_t>(frame.type), kAtType);
  put(static_cast<uint8_t>(frame.op), kAtOp);
  put(frame.sender, kAtSender);
  put(frame.job, kAtJob);
  put(frame.group, kAtGroup);
  put(frame.step, kAtStep);
  put(frame.sequence, kAtSequence);
  put(frame.count, kAtCount);
  put(frame.bytes, kAtBytes);
  put(frame.root, kAtRoot);
  const std::string_view name = NameOnWire(frame.name);
  std::memcpy(bytes.data() + kAtName, name.data(), name.size());
  return bytes;
}

void SetMessage(int sender, size_t step, int64_t bytes, FrameBytes& frame) {
  net::PutLittleEndian(static_cast<uint32_t>(sender), frame.data() + kAtSender);
  net::PutLittleEndian(static_cast<uint32_t>(step), frame.data() + kAtStep);
  net::PutLittleEndian(static_cast<uint64_t>(bytes), frame.data() + kAtBytes);
}

absl::StatusOr<Frame> DecodeFrame(std::span<const std::byte, kFrameBytes> bytes) {
  const auto get = [&]<typename T>(T& value, size_t at) {
    value = net::GetLittleEndian<T>(bytes.data() + at);
  };
  uint32_t magic = 0;
  uint16_t version = 0;
  get(magic, kAtMagic);
  get(version, kAtVersion);
  if (magic != kMagic) {
    return NoFrame(absl::StrFormat("it starts with 0x%08x, expected 0x%08x", magic, kMagic));
  }
  if (version != kVersion) {
    return NoFrame(absl::StrCat("it is of version ", version, ", this program speaks ", kVersion,
                                "; fix: start the same build on every rank"));
  }
  if (const auto why = UnknownNumber(bytes.data())) return NoFrame(*why);
  if (!AreZero(bytes.subspan(kAtReserved, 2)) || !AreZero(bytes.subspan(kAtReserved2, 4))) {
    return NoFrame("reserved bytes are not zero");
  }
  Frame frame;
  frame.kind = static_cast<Kind>(bytes[kAtKind]);
  frame.algorithm = static_cast<Algorithm>(bytes[kAtAlgorithm]);
  frame.type = static_cast<DataType>(bytes[kAtType]);
  frame.op = static_cast<ReduceOp>(bytes[kAtOp]);
  get(frame.sender, kAtSender);
  get(frame.job, kAtJob);
  get(frame.group, kAtGroup);
  get(frame.step, kAtStep);
  get(frame.sequence, kAtSequence);
  get(frame.count, kAtCount);
  get(frame.bytes, kAtBytes);
  get(frame.root, kAtRoot);
  if (const auto why = ImpossibleFigure(frame)) return NoFrame(*why);
  const char* name = reinterpret_cast<const char*>(bytes.data() + kAtName);
  frame.name = NameOnWire({name, kNameBytesMax});
  if (!AreZero(bytes.subspan(kAtName + frame.name.size()))) {
    return NoFrame("bytes follow the end of its name");
  }
  return frame;
}

absl::Status MismatchError(int rank, int peer, std::span<const std::byte, kFrameBytes> got,
                           const Frame& expected) {
  const std::string here = absl::StrCat("rank ", rank, " is in ", DescribeMessage(expected));
  const absl::StatusOr<Frame> frame = DecodeFrame(got);
  if (!frame.ok()) {
    return absl::DataLossError(
        absl::StrCat(here, " and waits for rank ", peer, ": ", frame.status().message()));
  }
  const std::vector<std::string> differences = Differences(peer, expected, *frame);
  return absl::FailedPreconditionError(
      absl::StrCat(here, "; rank ", peer, " is in ", DescribeMessage(*frame), ": they differ in ",
                   differences.empty() ? "nothing" : absl::StrJoin(differences, ", "),
                   "; fix: ", FixOf(expected, *frame)));
}

std::string Describe(const Frame& frame) { return absl::StrCat(DescribeOpen(frame), ")"); }

}  // namespace crossover::allreduce
