#include "ps/wire.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/gradient_norm.h"
#include "core/status.h"

namespace crossover::ps {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

constexpr uint32_t kMagic = 0x53504f58;
constexpr uint8_t kFormat = 1;
constexpr uint8_t kDtypeNone = 0;  // others are DataType's numbers

// The header as it lies on the wire.
struct RawHeader {
  uint32_t magic;
  uint8_t format;
  uint8_t kind;
  uint8_t dtype;
  uint8_t late;
  uint32_t part;
  uint32_t zero_word;
  int64_t payload_bytes;
  int64_t step;
  int64_t version;
  int64_t held_ns;
};
static_assert(sizeof(RawHeader) == FrameHeader::kBytes);

enum class PartRule { kNone, kOptional, kRequired };
enum class Values { kNone, kFloat32, kAnyWire };

// What a frame of each kind looks like.
struct KindRule {
  const char* name;
  PartRule part;
  Values values;               // what the payload consists of
  int64_t payload_unit_bytes;  // the payload's size is a multiple of it; of values, their size
  int64_t payload_bytes_min;
  int64_t payload_bytes_max;
  int64_t step_min;
  int64_t step_max;
  int64_t version_min;
  int64_t version_max;
  int64_t held_ns_max;
  uint8_t late_max;
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kValuesBytesMax = 4 * kValuesMax;
constexpr int64_t kPlanBytesMax = 8 * (1 + kBucketsMax);
constexpr int64_t kSquaresBytes = SquareSum::kBytes;
constexpr int64_t kNormBytes = sizeof(double);

// By FrameKind.
constexpr KindRule kRules[] = {
    {"", PartRule::kNone, Values::kNone, 1, 0, 0, -1, -1, -1, -1, 0, 0},
    {"plan", PartRule::kNone, Values::kNone, 8, 8, kPlanBytesMax, -1, -1, -1, -1, 0, 0},
    {"initialize", PartRule::kRequired, Values::kFloat32, 4, 4, kValuesBytesMax, -1, -1, -1, -1, 0,
     0},
    {"pull", PartRule::kRequired, Values::kNone, 1, 0, 0, -1, -1, -1, -1, 0, 0},
    {"push", PartRule::kRequired, Values::kAnyWire, 2, 2, kValuesBytesMax, 0, kAny, 0, kAny, 0, 0},
    {"leave", PartRule::kNone, Values::kNone, 1, 0, 0, -1, -1, -1, -1, 0, 0},
    {"reply", PartRule::kRequired, Values::kAnyWire, 2, 2, kValuesBytesMax, -1, kAny, 0, kAny, kAny,
     1},
    {"ack", PartRule::kOptional, Values::kNone, 1, 0, 0, -1, -1, -1, -1, 0, 0},
    {"squares", PartRule::kRequired, Values::kNone, 1, kSquaresBytes, kSquaresBytes, 0, kAny, -1,
     -1, 0, 0},
    {"norm", PartRule::kRequired, Values::kNone, 1, kNormBytes, kNormBytes, 0, kAny, -1, -1, 0, 0},
};
constexpr int kKinds = sizeof(kRules) / sizeof(kRules[0]);

const KindRule& RuleOf(FrameKind kind) { return kRules[static_cast<int>(kind)]; }

absl::Status CheckRange(const char* kind, const char* field, int64_t value, int64_t min,
                        int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kind, " frame: ", field, " is ", value, "; allowed are ", min, " to ", max));
}

absl::Status CheckDtype(const RawHeader& raw, const KindRule& rule) {
  switch (rule.values) {
    case Values::kNone:
      if (raw.dtype == kDtypeNone) return absl::OkStatus();
      break;
    case Values::kFloat32:
      if (raw.dtype == static_cast<uint8_t>(DataType::kFloat32)) return absl::OkStatus();
      break;
    case Values::kAnyWire:
      if (raw.dtype >= static_cast<uint8_t>(DataType::kFloat32) &&
          raw.dtype <= static_cast<uint8_t>(DataType::kBfloat16)) {
        return absl::OkStatus();
      }
  }
  const char* const allowed = rule.values == Values::kNone ? "is 0 (none)"
                              : rule.values == Values::kFloat32
                                  ? "is 1 (fp32)"
                                  : "are 1 (fp32), 2 (fp16), 3 (bf16)";
  return absl::InvalidArgumentError(
      absl::StrFormat("%s frame: dtype is %d; allowed %s", rule.name, raw.dtype, allowed));
}

absl::Status CheckFields(const RawHeader& raw, const KindRule& rule) {
  RETURN_IF_ERROR(CheckDtype(raw, rule));
  const bool has_part = raw.part != FrameHeader::kNoPart;
  if ((rule.part == PartRule::kRequired && !has_part) ||
      (rule.part == PartRule::kNone && has_part)) {
    return absl::InvalidArgumentError(absl::StrCat(
        rule.name, " frame: ", has_part ? "names a part; it has none" : "names no part"));
  }
  const int64_t unit_bytes = rule.values == Values::kNone
                                 ? rule.payload_unit_bytes
                                 : BytesOf(static_cast<DataType>(raw.dtype));
  if (raw.payload_bytes % unit_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(rule.name, " frame: payload of ",
                                                   raw.payload_bytes, " bytes is no multiple of ",
                                                   unit_bytes));
  }
  RETURN_IF_ERROR(CheckRange(rule.name, "payload_bytes", raw.payload_bytes, rule.payload_bytes_min,
                             rule.payload_bytes_max));
  RETURN_IF_ERROR(CheckRange(rule.name, "step", raw.step, rule.step_min, rule.step_max));
  RETURN_IF_ERROR(
      CheckRange(rule.name, "version", raw.version, rule.version_min, rule.version_max));
  RETURN_IF_ERROR(CheckRange(rule.name, "late", raw.late, 0, rule.late_max));
  return CheckRange(rule.name, "held_ns", raw.held_ns, 0, rule.held_ns_max);
}

}  // namespace

const char* FrameKindName(FrameKind kind) { return RuleOf(kind).name; }

std::array<std::byte, FrameHeader::kBytes> EncodeHeader(const FrameHeader& header) {
  RawHeader raw = {};
  raw.magic = kMagic;
  raw.format = kFormat;
  raw.kind = static_cast<uint8_t>(header.kind);
  raw.dtype =
      RuleOf(header.kind).values == Values::kNone ? kDtypeNone : static_cast<uint8_t>(header.type);
  raw.part = header.part;
  raw.payload_bytes = header.payload_bytes;
  raw.step = header.step;
  raw.version = header.version;
  raw.held_ns = header.held_ns;
  raw.late = header.late ? 1 : 0;
  return std::bit_cast<std::array<std::byte, FrameHeader::kBytes>>(raw);
}

absl::StatusOr<FrameHeader> DecodeHeader(const Payload& message) {
  if (message.size_bytes() < FrameHeader::kBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "frame of ", message.size_bytes(), " bytes; its header alone has ", FrameHeader::kBytes));
  }
  std::array<std::byte, FrameHeader::kBytes> bytes;
  message.CopyHead(bytes);
  const RawHeader raw = std::bit_cast<RawHeader>(bytes);
  if (raw.magic != kMagic) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "frame starts with 0x%08x; Crossover's start with 0x%08x", raw.magic, kMagic));
  }
  if (raw.format != kFormat) {
    return absl::InvalidArgumentError(
        absl::StrFormat("frame format is %d; this build speaks %d", raw.format, kFormat));
  }
  if (raw.kind == 0 || raw.kind >= kKinds) {
    return absl::InvalidArgumentError(
        absl::StrFormat("frame kind is %d; allowed are 1 to %d", raw.kind, kKinds - 1));
  }
  const KindRule& rule = kRules[raw.kind];
  if (raw.zero_word != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(rule.name, " frame: reserved bytes are not zero"));
  }
  const int64_t following_bytes = static_cast<int64_t>(message.size_bytes() - FrameHeader::kBytes);
  if (raw.payload_bytes != following_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(rule.name, " frame: announces ",
                                                   raw.payload_bytes, " payload bytes; ",
                                                   following_bytes, " follow"));
  }
  RETURN_IF_ERROR(CheckFields(raw, rule));
  FrameHeader header;
  header.kind = static_cast<FrameKind>(raw.kind);
  if (rule.values != Values::kNone) header.type = static_cast<DataType>(raw.dtype);
  header.part = raw.part;
  header.payload_bytes = raw.payload_bytes;
  header.step = raw.step;
  header.version = raw.version;
  header.held_ns = raw.held_ns;
  header.late = raw.late != 0;
  return header;
}

DataType WireTypeOf(const proto::Job& job) {
  switch (job.ps().wire()) {
    case proto::ParameterServer::fp16:
      return DataType::kFloat16;
    case proto::ParameterServer::bf16:
      return DataType::kBfloat16;
    case proto::ParameterServer::fp32:
      break;
  }
  return DataType::kFloat32;
}

absl::Status CheckPart(const FrameHeader& header, const ShardPlan& plan, int server,
                       DataType wire) {
  const KindRule& rule = RuleOf(header.kind);
  if (header.part >= plan.parts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(rule.name, " frame: part ", header.part, "; there are ", plan.parts.size()));
  }
  const Part& part = plan.parts[header.part];
  if (part.server != server) {
    return absl::InvalidArgumentError(absl::StrCat(rule.name, " frame: part ", header.part,
                                                   " belongs to server ", part.server,
                                                   ", not to server ", server));
  }
  if (rule.values == Values::kNone) return absl::OkStatus();
  const DataType type = header.step < 0 ? DataType::kFloat32 : wire;  // only pushes have steps
  if (header.type != type) {
    return absl::InvalidArgumentError(absl::StrCat(rule.name, " frame: part ", header.part,
                                                   " came as ", NameOf(header.type), ", not as ",
                                                   NameOf(type)));
  }
  const int64_t bytes = static_cast<int64_t>(BytesOf(type)) * part.length;
  if (header.payload_bytes != bytes) {
    return absl::InvalidArgumentError(absl::StrCat(rule.name, " frame: part ", header.part, " has ",
                                                   bytes, " bytes; ", header.payload_bytes,
                                                   " came"));
  }
  return absl::OkStatus();
}

WorkerPlan MakeWorkerPlan(const BucketPlan& buckets, int64_t total_steps) {
  WorkerPlan plan;
  plan.total_steps = total_steps;
  for (const Bucket& bucket : buckets.buckets) plan.bucket_lengths.push_back(bucket.length);
  return plan;
}

std::vector<std::byte> EncodePlan(const WorkerPlan& plan) {
  std::vector<int64_t> words = {plan.total_steps};
  words.insert(words.end(), plan.bucket_lengths.begin(), plan.bucket_lengths.end());
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

absl::StatusOr<WorkerPlan> DecodePlan(const Payload& payload) {
  const auto size_bytes = static_cast<int64_t>(payload.size_bytes());
  if (size_bytes < 8 || size_bytes > kPlanBytesMax || size_bytes % 8 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan of ", size_bytes, " bytes; allowed are 8 to ", kPlanBytesMax, " in eights"));
  }
  std::vector<int64_t> words(size_bytes / 8);
  payload.CopyHead(std::as_writable_bytes(std::span(words)));
  WorkerPlan plan;
  plan.total_steps = words[0];
  plan.bucket_lengths.assign(words.begin() + 1, words.end());
  RETURN_IF_ERROR(CheckRange("plan", "total_steps", plan.total_steps, 0, kTotalStepsMax));
  int64_t total = 0;
  for (const int64_t length : plan.bucket_lengths) {
    RETURN_IF_ERROR(CheckRange("plan", "a bucket's length", length, 0, kValuesMax));
    total += length;
    RETURN_IF_ERROR(CheckRange("plan", "the buckets' length together", total, 0, kValuesMax));
  }
  return plan;
}

absl::StatusOr<ShardPlan> ShardPlanFor(const WorkerPlan& plan, int servers, int64_t part_bytes) {
  const int64_t part_length = part_bytes / 4;
  int64_t parts = 0;
  BucketPlan buckets;
  int64_t offset = 0;
  for (const int64_t length : plan.bucket_lengths) {
    parts += std::min(length, servers + length / part_length);
    if (parts > kPartsMax) {
      return absl::InvalidArgumentError(absl::StrCat("plan of more than ", kPartsMax, " parts of ",
                                                     part_bytes, " bytes: use larger parts"));
    }
    Bucket bucket;
    bucket.id = static_cast<int>(buckets.buckets.size());
    bucket.offset = offset;
    bucket.length = length;
    buckets.buckets.push_back(bucket);
    offset += length;
  }
  return MakeShardPlan(buckets, servers, part_bytes);
}

std::vector<int> PartChannels(const ShardPlan& plan, int channels) {
  std::vector<int> part_channels(plan.parts.size());
  for (const std::vector<int>& parts : plan.server_parts) {
    for (size_t n = 0; n < parts.size(); ++n)
      part_channels[parts[n]] = static_cast<int>(n) % channels;
  }
  return part_channels;
}

}  // namespace crossover::ps
