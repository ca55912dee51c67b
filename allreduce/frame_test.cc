#include "allreduce/frame.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace crossover::allreduce {
namespace {

Frame Example() {
  Frame frame;
  frame.kind = Kind::kAllReduce;
  frame.algorithm = Algorithm::kRing;
  frame.type = DataType::kFloat32;
  frame.op = ReduceOp::kSum;
  frame.sender = 3;
  frame.job = 0x1122334455667788;
  frame.group = 5;
  frame.step = 2;
  frame.sequence = 41;
  frame.count = 1024;
  frame.bytes = 2048;
  frame.name = "bucket 3";
  return frame;
}

// DecodeFrame's refusal of the example after `damage`.
std::string Refusal(const std::function<void(FrameBytes&)>& damage) {
  FrameBytes bytes = EncodeFrame(Example());
  damage(bytes);
  const auto frame = DecodeFrame(bytes);
  if (frame.ok()) return "accepted";
  EXPECT_EQ(frame.status().code(), absl::StatusCode::kDataLoss);
  return std::string(frame.status().message());
}
std::string RefusalOfByte(size_t at, int value) {
  return Refusal([&](FrameBytes& bytes) { bytes[at] = static_cast<std::byte>(value); });
}
std::string RefusalOf(const Frame& frame) {
  return Refusal([&](FrameBytes& bytes) { bytes = EncodeFrame(frame); });
}

std::string Mismatch(const Frame& got, const Frame& expected) {
  return std::string(MismatchError(1, 3, EncodeFrame(got), expected).message());
}

TEST(FrameTest, TheLayoutIsAsDocumented) {
  const FrameBytes bytes = EncodeFrame(Example());
  const auto at = [&](size_t i) { return std::to_integer<int>(bytes[i]); };
  EXPECT_EQ(at(0), 'X');
  EXPECT_EQ(at(3), 'F');
  EXPECT_EQ(at(4), 1);   // version
  EXPECT_EQ(at(6), 1);   // kind
  EXPECT_EQ(at(7), 1);   // algorithm
  EXPECT_EQ(at(8), 1);   // type
  EXPECT_EQ(at(9), 1);   // op
  EXPECT_EQ(at(12), 3);  // sender
  EXPECT_EQ(at(16), 0x88);
  EXPECT_EQ(at(23), 0x11);
  EXPECT_EQ(at(24), 5);   // group
  EXPECT_EQ(at(28), 2);   // step
  EXPECT_EQ(at(32), 41);  // sequence
  EXPECT_EQ(at(41), 4);   // count
  EXPECT_EQ(at(49), 8);   // bytes
  EXPECT_EQ(at(56), 0);   // root
  EXPECT_EQ(at(64), 'b');
  EXPECT_EQ(at(72), 0);
}

TEST(FrameTest, LongNamesThatDifferAnywhereStayDifferent) {
  EXPECT_EQ(NameInFrame("bucket 3"), "bucket 3");
  EXPECT_EQ(NameInFrame(""), "");
  const std::string whole(kNameBytesMax, 'x');
  EXPECT_EQ(NameInFrame(whole), whole);
  Frame query = Example();
  Frame key = Example();
  query.name = NameInFrame("encoder.layer.11.attention.self.query.weight");
  key.name = NameInFrame("encoder.layer.11.attention.self.key.weight");
  EXPECT_EQ(query.name.size(), kNameBytesMax);
  EXPECT_EQ(query.name.substr(0, 24), "encoder.layer.11.attent~");
  EXPECT_FALSE(EncodeFrame(query) == EncodeFrame(key));
  EXPECT_NE(Mismatch(query, key).find("they differ in name"), std::string::npos);
  EXPECT_EQ(NameInFrame("encoder.layer.11.attention.self.key.weight"), key.name);
}

TEST(FrameTest, AMessagesFrameIsTheCollectivesWithThreeFiguresOfItsOwn) {
  Frame frame = Example();
  FrameBytes bytes = EncodeFrame(frame);
  frame.sender = 7;
  frame.step = 19;
  frame.bytes = 1024;
  SetMessage(7, 19, 1024, bytes);
  EXPECT_EQ(bytes, EncodeFrame(frame));
}

TEST(FrameTest, WhatWasEncodedIsDecoded) {
  for (const int root : {0, 7}) {
    Frame frame = Example();
    if (root > 0) {
      frame.kind = Kind::kBroadcast;
      frame.algorithm = Algorithm::kTree;
      frame.root = root;
    }
    const auto decoded = DecodeFrame(EncodeFrame(frame));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->kind, frame.kind);
    EXPECT_EQ(decoded->algorithm, frame.algorithm);
    EXPECT_EQ(decoded->type, frame.type);
    EXPECT_EQ(decoded->op, frame.op);
    EXPECT_EQ(decoded->sender, 3u);
    EXPECT_EQ(decoded->job, 0x1122334455667788u);
    EXPECT_EQ(decoded->group, 5u);
    EXPECT_EQ(decoded->step, 2u);
    EXPECT_EQ(decoded->sequence, 41u);
    EXPECT_EQ(decoded->count, 1024u);
    EXPECT_EQ(decoded->bytes, 2048u);
    EXPECT_EQ(decoded->root, static_cast<uint32_t>(root));
    EXPECT_EQ(decoded->name, "bucket 3");
  }
}

TEST(FrameTest, EveryKindAlgorithmTypeAndOpTravels) {
  for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather,
                          Kind::kBroadcast, Kind::kBarrier}) {
    for (const Algorithm algorithm : AlgorithmsOf(kind)) {
      for (int type = 1; type <= 6; ++type) {
        for (int op = 1; op <= 4; ++op) {
          Frame frame;
          frame.kind = kind;
          frame.algorithm = algorithm;
          frame.type = static_cast<DataType>(type);
          frame.op = static_cast<ReduceOp>(op);
          const FrameBytes bytes = EncodeFrame(frame);
          const auto decoded = DecodeFrame(bytes);
          ASSERT_TRUE(decoded.ok()) << decoded.status();
          EXPECT_EQ(EncodeFrame(*decoded), bytes);
        }
      }
    }
  }
}

TEST(FrameTest, ALongNameIsCutAndANulEndsIt) {
  Frame frame = Example();
  frame.name = std::string(kNameBytesMax, 'n');
  EXPECT_EQ(DecodeFrame(EncodeFrame(frame))->name, frame.name);
  frame.name = std::string(100, 'n');
  EXPECT_EQ(DecodeFrame(EncodeFrame(frame))->name, std::string(kNameBytesMax, 'n'));
  frame.name = std::string("ab\0cd", 5);
  EXPECT_EQ(DecodeFrame(EncodeFrame(frame))->name, "ab");
  frame.name = "";
  EXPECT_EQ(DecodeFrame(EncodeFrame(frame))->name, "");
}

TEST(FrameTest, TheLargestCollectiveTravels) {
  Frame frame = Example();
  frame.type = DataType::kInt64;
  frame.count = (uint64_t{1} << 60) - 1;
  frame.bytes = frame.count * 8;
  EXPECT_TRUE(DecodeFrame(EncodeFrame(frame)).ok());
  frame.count += 1;
  EXPECT_NE(RefusalOf(frame).find("1152921504606846976 values"), std::string::npos);
}

TEST(FrameTest, NonsenseIsRefusedWithWhatIsWrong) {
  EXPECT_EQ(RefusalOfByte(0, 'x'),
            "what came is no frame of a collective: it starts with 0x46535278, expected "
            "0x46535258");
  EXPECT_NE(RefusalOfByte(4, 2).find("version 2, this program speaks 1; fix: "), std::string::npos);
  EXPECT_NE(RefusalOfByte(6, 0).find("kind 0, of which there are 1 to 5"), std::string::npos);
  EXPECT_NE(RefusalOfByte(6, 6).find("kind 6"), std::string::npos);
  EXPECT_NE(RefusalOfByte(7, 0).find("algorithm 0, which AllReduce does not have"),
            std::string::npos);
  EXPECT_NE(RefusalOfByte(7, 7).find("algorithm 7"), std::string::npos);
  EXPECT_NE(RefusalOfByte(8, 7).find("type 7, of which there are 1 to 6"), std::string::npos);
  EXPECT_NE(RefusalOfByte(9, 5).find("op 5, of which there are 1 to 4"), std::string::npos);
  EXPECT_NE(RefusalOfByte(11, 1).find("reserved"), std::string::npos);
  EXPECT_NE(RefusalOfByte(62, 1).find("reserved"), std::string::npos);
  EXPECT_NE(RefusalOfByte(15, 0x80).find("sender 2147483651"), std::string::npos);
  EXPECT_NE(RefusalOfByte(56, 1).find("a root, 1, of a collective without one"), std::string::npos);
  EXPECT_NE(RefusalOfByte(95, 'x').find("follow the end of its name"), std::string::npos);
}

TEST(FrameTest, LengthsThatNoCollectiveHasAreRefused) {
  Frame frame = Example();
  frame.bytes = 2047;
  EXPECT_NE(RefusalOf(frame).find("2047 bytes of a buffer of 1024 fp32"), std::string::npos);
  frame.bytes = 4096;
  EXPECT_EQ(RefusalOf(frame), "accepted");
  frame.bytes = 4100;
  EXPECT_NE(RefusalOf(frame).find("4100 bytes of a buffer of 1024 fp32"), std::string::npos);
  frame = Example();
  frame.kind = Kind::kBarrier;
  frame.algorithm = Algorithm::kDissemination;
  EXPECT_NE(RefusalOf(frame).find("a barrier with 1024 values"), std::string::npos);
}

TEST(DescribeTest, ShowsWhatAReaderKnowsTheCollectiveBy) {
  Frame frame = Example();
  EXPECT_EQ(Describe(frame), "AllReduce 41 (ring, sum of 1024 fp32 \"bucket 3\", step 2)");
  frame.name = "";
  EXPECT_EQ(Describe(frame), "AllReduce 41 (ring, sum of 1024 fp32, step 2)");
  frame.kind = Kind::kBroadcast;
  frame.algorithm = Algorithm::kChain;
  frame.root = 2;
  EXPECT_EQ(Describe(frame), "Broadcast 41 (chain, 1024 fp32 from rank 2, step 2)");
  frame.kind = Kind::kAllGather;
  frame.algorithm = Algorithm::kDirect;
  EXPECT_EQ(Describe(frame), "AllGather 41 (direct, 1024 fp32, step 2)");
  frame.kind = Kind::kBarrier;
  frame.algorithm = Algorithm::kDissemination;
  EXPECT_EQ(Describe(frame), "Barrier 41 (dissemination, step 2)");
}

TEST(DescribeTest, ANameStaysOnOneLine) {
  Frame frame = Example();
  frame.name = "a\nb\x1b[2J";
  EXPECT_EQ(Describe(frame), "AllReduce 41 (ring, sum of 1024 fp32 \"a?b?[2J\", step 2)");
}

TEST(MismatchErrorTest, ShowsBothSidesAndWhatDiffers) {
  Frame expected = Example();
  expected.sender = 1;
  expected.count = 1000;
  expected.bytes = 2000;
  EXPECT_EQ(Mismatch(Example(), expected),
            "rank 1 is in AllReduce 41 (ring, sum of 1000 fp32 \"bucket 3\", step 2, 2000 bytes); "
            "rank 3 is in AllReduce 41 (ring, sum of 1024 fp32 \"bucket 3\", step 2, 2048 bytes): "
            "they differ in count (1000 here, 1024 there), bytes of the message (2000 here, 2048 "
            "there); fix: call the same collectives on every rank, in one order and with the same "
            "arguments");
  EXPECT_EQ(MismatchError(1, 3, EncodeFrame(Example()), expected).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(MismatchErrorTest, NamesEachFieldThatDiffers) {
  const std::vector<std::pair<std::function<void(Frame&)>, std::string>> changes = {
      {[](Frame& f) { f.kind = Kind::kReduceScatter; }, "collective (AllReduce here, Reduce"},
      {[](Frame& f) { f.algorithm = Algorithm::kTree; }, "algorithm (ring here, tree there)"},
      {[](Frame& f) { f.type = DataType::kFloat16; }, "type (fp32 here, fp16 there)"},
      {[](Frame& f) { f.op = ReduceOp::kAverage; }, "operation (sum here, average there)"},
      {[](Frame& f) { f.sender = 2; }, "sender (3 here, 2 there)"},
      {[](Frame& f) { f.job = 1; }, "job (0x1122334455667788 here, 0x0000000000000001 there)"},
      {[](Frame& f) { f.group = 6; }, "group (5 here, 6 there)"},
      {[](Frame& f) { f.step = 0; }, "step (2 here, 0 there)"},
      {[](Frame& f) { f.sequence = 40; }, "sequence number (41 here, 40 there)"},
      {[](Frame& f) { f.count = 4096; }, "count (1024 here, 4096 there)"},
      {[](Frame& f) { f.bytes = 4; }, "bytes of the message (2048 here, 4 there)"},
      {[](Frame& f) { f.name = "bucket 4"; }, "name (\"bucket 3\" here, \"bucket 4\" there)"},
  };
  for (const auto& [change, expected] : changes) {
    Frame got = Example();
    change(got);
    const std::string message = Mismatch(got, Example());
    EXPECT_NE(message.find("they differ in " + expected), std::string::npos) << message;
  }
}

TEST(MismatchErrorTest, BytesThatAreNoFrameAreSaidToBe) {
  FrameBytes bytes{};
  const absl::Status error = MismatchError(1, 3, bytes, Example());
  EXPECT_EQ(error.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(error.message(),
            "rank 1 is in AllReduce 41 (ring, sum of 1024 fp32 \"bucket 3\", step 2, 2048 bytes) "
            "and waits for rank 3: what came is no frame of a collective: it starts with "
            "0x00000000, expected 0x46535258");
}

}  // namespace
}  // namespace crossover::allreduce
