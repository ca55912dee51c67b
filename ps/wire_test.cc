#include "ps/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

namespace crossover::ps {
namespace {

using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

Bytes Frame(const FrameHeader& header) {
  const auto encoded = EncodeHeader(header);
  Bytes bytes(encoded.begin(), encoded.end());
  bytes.resize(bytes.size() + header.payload_bytes);
  return bytes;
}

absl::StatusOr<FrameHeader> Decode(const Bytes& bytes) { return DecodeHeader(Payload(bytes)); }

// One valid frame of each kind.
std::vector<FrameHeader> ValidHeaders() {
  return {
      {.kind = FrameKind::kPlan, .payload_bytes = 16},
      {.kind = FrameKind::kInitialize, .part = 3, .payload_bytes = 8},
      {.kind = FrameKind::kPull, .part = 0},
      {.kind = FrameKind::kPush, .part = 1, .payload_bytes = 4, .step = 7, .version = 6},
      {.kind = FrameKind::kLeave},
      {.kind = FrameKind::kPush,
       .type = DataType::kFloat16,
       .part = 1,
       .payload_bytes = 6,
       .step = 7,
       .version = 6},
      {.kind = FrameKind::kReply,
       .part = 2,
       .payload_bytes = 4,
       .step = 7,
       .version = 8,
       .held_ns = 9,
       .late = true},
      {.kind = FrameKind::kAck, .part = 5},
      {.kind = FrameKind::kSquares, .part = 4, .payload_bytes = 96, .step = 7},
      {.kind = FrameKind::kNorm, .part = 4, .payload_bytes = 8, .step = 7},
  };
}

TEST(Wire, EveryKindComesBackAsItWas) {
  for (const FrameHeader& header : ValidHeaders()) {
    const auto decoded = Decode(Frame(header));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->kind, header.kind);
    EXPECT_EQ(decoded->type, header.type);
    EXPECT_EQ(decoded->part, header.part);
    EXPECT_EQ(decoded->payload_bytes, header.payload_bytes);
    EXPECT_EQ(decoded->step, header.step);
    EXPECT_EQ(decoded->version, header.version);
    EXPECT_EQ(decoded->held_ns, header.held_ns);
    EXPECT_EQ(decoded->late, header.late);
  }
}

TEST(Wire, LayoutIsTheDocumentedOne) {
  const auto bytes = EncodeHeader(
      {.kind = FrameKind::kPush, .part = 0x0a0b0c0d, .payload_bytes = 4, .step = 5, .version = 6});
  const unsigned char expected[48] = {'X',  'O', 'P', 'S', 1, 4, 1, 0, 0x0d, 0x0c, 0x0b,
                                      0x0a, 0,   0,   0,   0, 4, 0, 0, 0,    0,    0,
                                      0,    0,   5,   0,   0, 0, 0, 0, 0,    0,    6};
  EXPECT_EQ(std::memcmp(bytes.data(), expected, 48), 0);
}

TEST(Wire, RefusesEveryTruncation) {
  for (const FrameHeader& header : ValidHeaders()) {
    const Bytes whole = Frame(header);
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(Decode(Bytes(whole.begin(), whole.begin() + size)).ok()) << size;
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(Decode(longer).ok());
  }
  EXPECT_THAT(Decode(Bytes(47)).status().message(), HasSubstr("frame of 47 bytes"));
}

// A valid push with one byte replaced.
std::string ErrorOfPushWith(size_t at, int value) {
  Bytes bytes = Frame(ValidHeaders()[3]);
  bytes[at] = std::byte(value);
  return std::string(Decode(bytes).status().message());
}

TEST(Wire, NamesWhatIsWrong) {
  EXPECT_THAT(ErrorOfPushWith(0, 'Y'), HasSubstr("frame starts with 0x53504f59"));
  EXPECT_THAT(ErrorOfPushWith(4, 2), HasSubstr("format is 2; this build speaks 1"));
  EXPECT_THAT(ErrorOfPushWith(5, 0), HasSubstr("kind is 0; allowed are 1 to 9"));
  EXPECT_THAT(ErrorOfPushWith(5, 10), HasSubstr("kind is 10"));
  EXPECT_THAT(ErrorOfPushWith(6, 0), HasSubstr("push frame: dtype is 0"));
  EXPECT_THAT(ErrorOfPushWith(6, 4),
              HasSubstr("dtype is 4; allowed are 1 (fp32), 2 (fp16), 3 (bf16)"));
  EXPECT_THAT(ErrorOfPushWith(7, 1), HasSubstr("push frame: late is 1; allowed are 0 to 0"));
  EXPECT_THAT(ErrorOfPushWith(12, 1), HasSubstr("reserved bytes"));
  EXPECT_THAT(ErrorOfPushWith(16, 8), HasSubstr("announces 8 payload bytes; 4 follow"));
  EXPECT_THAT(ErrorOfPushWith(31, 0x80), HasSubstr("step is -"));
  EXPECT_THAT(ErrorOfPushWith(39, 0x80), HasSubstr("version is -"));
  EXPECT_THAT(ErrorOfPushWith(40, 1), HasSubstr("held_ns is 1; allowed are 0 to 0"));
}

TEST(Wire, RefusesFieldsThatAKindDoesNotHave) {
  const auto error = [](const FrameHeader& header) {
    return std::string(Decode(Frame(header)).status().message());
  };
  EXPECT_THAT(error({.kind = FrameKind::kPush, .payload_bytes = 4, .step = 0, .version = 0}),
              HasSubstr("push frame: names no part"));
  EXPECT_THAT(error({.kind = FrameKind::kLeave, .part = 1}), HasSubstr("names a part"));
  EXPECT_THAT(error({.kind = FrameKind::kPull, .part = 1, .payload_bytes = 4}),
              HasSubstr("payload_bytes is 4; allowed are 0 to 0"));
  EXPECT_THAT(error({.kind = FrameKind::kPull, .part = 1, .step = 2}),
              HasSubstr("step is 2; allowed are -1 to -1"));
  EXPECT_THAT(error({.kind = FrameKind::kInitialize, .part = 1, .payload_bytes = 6}),
              HasSubstr("no multiple of 4"));
  EXPECT_THAT(error({.kind = FrameKind::kInitialize,
                     .type = DataType::kBfloat16,
                     .part = 1,
                     .payload_bytes = 8}),
              HasSubstr("dtype is 3; allowed is 1 (fp32)"));
  EXPECT_THAT(error({.kind = FrameKind::kPush,
                     .type = DataType::kBfloat16,
                     .part = 1,
                     .payload_bytes = 5,
                     .step = 0,
                     .version = 0}),
              HasSubstr("no multiple of 2"));
  EXPECT_THAT(error({.kind = FrameKind::kInitialize, .part = 1}), HasSubstr("allowed are 4 to"));
  EXPECT_THAT(error({.kind = FrameKind::kPlan}), HasSubstr("allowed are 8 to"));
  EXPECT_THAT(
      error(
          {.kind = FrameKind::kReply, .part = 1, .payload_bytes = 4, .version = 0, .held_ns = -1}),
      HasSubstr("held_ns is -1"));
}

// Whatever comes, it is an answer or an error; half of the cases start well.
TEST(Wire, SurvivesJunk) {
  constexpr uint32_t kSeed = 20240607;
  std::mt19937 random(kSeed);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes(random() % 80);
    for (std::byte& byte : bytes) byte = std::byte(random());
    if (round % 2 == 0) {
      const FrameHeader header = ValidHeaders()[random() % 8];
      bytes = Frame(header);
      for (int i = random() % 3; i >= 0; --i) bytes[random() % bytes.size()] = std::byte(random());
    }
    const auto decoded = Decode(bytes);
    if (!decoded.ok()) continue;
    ++accepted;
    EXPECT_EQ(decoded->payload_bytes, static_cast<int64_t>(bytes.size() - FrameHeader::kBytes));
    EXPECT_GE(decoded->step, -1);
    EXPECT_GE(decoded->version, -1);
    EXPECT_GE(decoded->held_ns, 0);
  }
  EXPECT_GT(accepted, 0) << "seed " << kSeed;
}

TEST(Wire, ChecksThePart) {
  const ShardPlan plan = *ShardPlanFor({.total_steps = 1, .bucket_lengths = {6}}, 2, 8);
  ASSERT_EQ(plan.parts.size(), 4u);  // 2 and 1 values on each server
  const FrameHeader push = {
      .kind = FrameKind::kPush, .part = 1, .payload_bytes = 4, .step = 0, .version = 0};
  const auto check = [&](const FrameHeader& header, int server,
                         DataType wire = DataType::kFloat32) {
    return std::string(CheckPart(header, plan, server, wire).message());
  };
  EXPECT_EQ(check(push, 0), "");
  EXPECT_THAT(check(push, 1), HasSubstr("belongs to server 0, not to server 1"));
  FrameHeader wrong = push;
  wrong.part = 4;
  EXPECT_THAT(check(wrong, 0), HasSubstr("part 4; there are 4"));
  wrong.part = FrameHeader::kNoPart;
  EXPECT_NE(check(wrong, 0), "");
  wrong = push;
  wrong.payload_bytes = 8;
  EXPECT_THAT(check(wrong, 0), HasSubstr("part 1 has 4 bytes; 8 came"));
  EXPECT_EQ(check({.kind = FrameKind::kPull, .part = 1}, 0), "");

  EXPECT_THAT(check(push, 0, DataType::kFloat16), HasSubstr("part 1 came as fp32, not as fp16"));
  FrameHeader half = push;
  half.type = DataType::kFloat16;
  EXPECT_THAT(check(half, 0), HasSubstr("part 1 came as fp16, not as fp32"));
  EXPECT_THAT(check(half, 0, DataType::kFloat16), HasSubstr("part 1 has 2 bytes; 4 came"));
  half.payload_bytes = 2;
  EXPECT_EQ(check(half, 0, DataType::kFloat16), "");
  // First parameters, and replies to pulls, are exact.
  EXPECT_EQ(
      check({.kind = FrameKind::kInitialize, .part = 1, .payload_bytes = 4}, 0, DataType::kFloat16),
      "");
  EXPECT_EQ(check({.kind = FrameKind::kReply, .part = 1, .payload_bytes = 4, .version = 3}, 0,
                  DataType::kFloat16),
            "");
}

TEST(Plan, ComesBackAsItWas) {
  BucketPlan buckets;
  buckets.buckets = {{.id = 0, .offset = 0, .length = 5}, {.id = 1, .offset = 5, .length = 0}};
  const WorkerPlan plan = MakeWorkerPlan(buckets, 12);
  const Bytes bytes = EncodePlan(plan);
  const auto decoded = DecodePlan(Payload(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, plan);
  EXPECT_EQ(decoded->bucket_lengths, (std::vector<int64_t>{5, 0}));
}

TEST(Plan, GivesTheShardPlanOfItsBuckets) {
  BucketPlan buckets;
  buckets.buckets = {{.id = 0, .offset = 0, .length = 5}, {.id = 1, .offset = 5, .length = 9}};
  const ShardPlan expected = MakeShardPlan(buckets, 2, 8);
  const auto plan = ShardPlanFor(MakeWorkerPlan(buckets, 1), 2, 8);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->parts.size(), expected.parts.size());
  for (size_t i = 0; i < plan->parts.size(); ++i) {
    EXPECT_EQ(plan->parts[i].offset, expected.parts[i].offset);
    EXPECT_EQ(plan->parts[i].length, expected.parts[i].length);
    EXPECT_EQ(plan->parts[i].server, expected.parts[i].server);
  }
}

TEST(Plan, DealsEachServersPartsToItsChannels) {
  ShardPlan plan;
  plan.parts.resize(5);
  plan.server_parts = {{0, 2, 3}, {}, {1, 4}};
  EXPECT_EQ(PartChannels(plan, 2), (std::vector<int>{0, 0, 1, 0, 1}));
  EXPECT_EQ(PartChannels(plan, 1), (std::vector<int>(5, 0)));
}

TEST(Plan, RefusesWhatCannotBe) {
  const auto error = [](const WorkerPlan& plan) {
    const Bytes bytes = EncodePlan(plan);
    return std::string(DecodePlan(Payload(bytes)).status().message());
  };
  EXPECT_THAT(error({-1, {4}}), HasSubstr("total_steps is -1"));
  EXPECT_THAT(error({kTotalStepsMax + 1, {4}}),
              HasSubstr("total_steps is 1000000000001; allowed are 0 to 1000000000000"));
  EXPECT_THAT(error({1, {4, -4}}), HasSubstr("a bucket's length is -4"));
  EXPECT_THAT(error({1, {std::numeric_limits<int64_t>::max()}}), HasSubstr("bucket's length is 9"));
  EXPECT_THAT(error({1, {kValuesMax, 1}}), HasSubstr("length together is 2147483649"));
  EXPECT_THAT(error({1, std::vector<int64_t>(kBucketsMax + 1, 0)}), HasSubstr("allowed are 8 to"));
  EXPECT_EQ(error({0, {}}), "");
  EXPECT_FALSE(DecodePlan(Payload(Bytes(0))).ok());
  EXPECT_FALSE(DecodePlan(Payload(Bytes(12))).ok());
  // A plan whose parts alone would fill the memory.
  EXPECT_THAT(ShardPlanFor({1, {kValuesMax}}, 2, 4).status().message(),
              HasSubstr("use larger parts"));
}

}  // namespace
}  // namespace crossover::ps
