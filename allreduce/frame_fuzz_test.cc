// Random damage to frames: decoding never crashes, and accepts only what encodes to the same bytes
// and could be a collective's message. `--inputs=N` and `--gtest_random_seed=SEED` set how many
// inputs and which; //allreduce:frame_fuzz_long_test has 10 million.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "allreduce/algorithms.h"
#include "allreduce/frame.h"
#include "core/data_type.h"

namespace crossover::allreduce {
namespace {

int64_t inputs = 200'000;

Frame RandomFrame(std::mt19937_64& random) {
  const Kind kind = static_cast<Kind>(1 + random() % 5);
  const std::vector<Algorithm> algorithms = AlgorithmsOf(kind);
  Frame frame;
  frame.kind = kind;
  frame.algorithm = algorithms[random() % algorithms.size()];
  frame.type = static_cast<DataType>(1 + random() % 6);
  frame.op = static_cast<ReduceOp>(1 + random() % 4);
  frame.sender = random() % 1024;
  frame.job = random();
  frame.group = static_cast<uint32_t>(random());
  frame.step = static_cast<uint32_t>(random());
  frame.sequence = random();
  frame.count = kind == Kind::kBarrier ? 0 : random() >> (4 + random() % 60);
  frame.bytes = frame.count == 0 ? 0 : BytesOf(frame.type) * (random() % (frame.count + 1));
  frame.root = kind == Kind::kBroadcast ? random() % 1024 : 0;
  frame.name = std::string(random() % (kNameBytesMax + 1), static_cast<char>(1 + random() % 255));
  return frame;
}

// A few bits, bytes, repeated stretches or whole numbers at their edges.
void Damage(std::mt19937_64& random, FrameBytes& bytes) {
  for (uint64_t n = random() % 4; n > 0; --n) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] ^= std::byte{1} << random() % 8;
        break;
      case 1:
        bytes[at] = static_cast<std::byte>(random());
        break;
      case 2: {
        const size_t from = random() % bytes.size();
        const size_t size = random() % (bytes.size() - std::max(at, from) + 1);
        std::copy_n(FrameBytes(bytes).begin() + from, size, bytes.begin() + at);
        break;
      }
      default: {
        const auto edge = random() % 2 == 0 ? std::byte{0} : std::byte{0xff};
        const size_t begin = at / 8 * 8;
        std::fill_n(bytes.begin() + begin, 1 + random() % 8, edge);
      }
    }
  }
}

bool MayBeACollectives(const Frame& frame) {
  const auto algorithms = AlgorithmsOf(frame.kind);
  const uint64_t value_bytes = BytesOf(frame.type);
  return std::ranges::count(algorithms, frame.algorithm) == 1 &&
         std::string_view(NameOf(frame.op)).size() > 0 && frame.count <= (uint64_t{1} << 60) &&
         frame.bytes % value_bytes == 0 && frame.bytes / value_bytes <= frame.count &&
         frame.name.size() <= kNameBytesMax && frame.name.find('\0') == std::string::npos;
}

TEST(FrameFuzzTest, UndamagedFramesRoundTrip) {
  std::mt19937_64 random(GTEST_FLAG_GET(random_seed));
  for (int64_t i = 0; i < inputs; ++i) {
    const FrameBytes bytes = EncodeFrame(RandomFrame(random));
    const auto frame = DecodeFrame(bytes);
    ASSERT_TRUE(frame.ok()) << frame.status() << " (input " << i << ")";
    ASSERT_TRUE(EncodeFrame(*frame) == bytes) << "input " << i;
  }
}

TEST(FrameFuzzTest, WhatIsAcceptedIsAFrame) {
  std::mt19937_64 random(GTEST_FLAG_GET(random_seed));
  const Frame expected = RandomFrame(random);
  int64_t accepted = 0;
  for (int64_t i = 0; i < inputs; ++i) {
    FrameBytes bytes = EncodeFrame(RandomFrame(random));
    Damage(random, bytes);
    const auto frame = DecodeFrame(bytes);
    if (frame.ok()) {
      ++accepted;
      ASSERT_TRUE(EncodeFrame(*frame) == bytes) << "input " << i;
      ASSERT_TRUE(MayBeACollectives(*frame)) << Describe(*frame) << " (input " << i << ")";
    }
    // The message for people is made of the same bytes.
    if (i % 64 != 0) continue;
    const std::string message(MismatchError(0, 1, bytes, expected).message());
    ASSERT_TRUE(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; })) << i;
  }
  EXPECT_GT(accepted, inputs / 10);  // both answers are common
  EXPECT_LT(accepted, inputs * 9 / 10);
}

}  // namespace
}  // namespace crossover::allreduce

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--inputs=")) {
      crossover::allreduce::inputs = std::atoll(argv[i] + std::string_view("--inputs=").size());
    }
  }
  return RUN_ALL_TESTS();
}
