#include "worker/data/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "worker/data/test_files.h"

namespace crossover::worker {
namespace {

using testing::HasSubstr;

// Deterministic bytes that do not compress well.
std::string Noise(size_t size) {
  std::string bytes;
  uint32_t state = 1;
  while (bytes.size() < size) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

absl::StatusOr<std::string> ReadAll(ByteSource& source, size_t part_bytes) {
  std::string all;
  std::vector<uint8_t> part(part_bytes);
  while (true) {
    absl::StatusOr<size_t> n = source.Read(part);
    if (!n.ok()) return n.status();
    all.append(part.begin(), part.begin() + *n);
    if (*n < part_bytes) return all;
  }
}

struct Opened {
  std::unique_ptr<ByteSource> source;
  std::string path;
};

Opened OpenContent(const std::string& name, const std::string& content) {
  Opened opened;
  opened.path = MakeTestDirectory() + "/" + name;
  WriteTestFile(opened.path, content);
  auto source = OpenByteSource(opened.path);
  EXPECT_TRUE(source.ok()) << source.status();
  opened.source = std::move(source).value();
  return opened;
}

TEST(ByteSourceTest, PlainBytesInPartsOfAnySize) {
  const std::string content = Noise(200'001);
  for (const size_t part : {1000, 65536, 300'000}) {
    auto [source, path] = OpenContent("file", content);
    EXPECT_TRUE(source->size_known());
    EXPECT_EQ(source->size_max(), 200'001);
    EXPECT_EQ(source->path(), path);
    EXPECT_EQ(*ReadAll(*source, part), content);
    EXPECT_EQ(source->offset(), 200'001);
  }
}

TEST(ByteSourceTest, GzipBytesInPartsOfAnySize) {
  const std::string content = Noise(200'001) + std::string(1'000'000, 'a');
  for (const size_t part : {1000, 65536, 3'000'000}) {
    auto [source, path] = OpenContent("file.gz", Gzip(content));
    EXPECT_FALSE(source->size_known());
    EXPECT_GE(source->size_max(), 1'200'001);
    EXPECT_EQ(*ReadAll(*source, part), content);
    EXPECT_EQ(source->offset(), 1'200'001);
  }
}

TEST(ByteSourceTest, GzipOfSeveralMembersAndOfNothing) {
  auto several = OpenContent("file.gz", Gzip("one, ") + Gzip("") + Gzip("two"));
  EXPECT_EQ(*ReadAll(*several.source, 3), "one, two");
  auto nothing = OpenContent("file.gz", Gzip(""));
  EXPECT_EQ(*ReadAll(*nothing.source, 3), "");
}

TEST(ByteSourceTest, EmptyPlainFile) {
  auto [source, path] = OpenContent("file", "");
  EXPECT_EQ(source->size_max(), 0);
  EXPECT_EQ(*ReadAll(*source, 10), "");
}

TEST(ByteSourceTest, MissingFileNamesThePath) {
  const auto source = OpenByteSource("/nowhere/data");
  EXPECT_EQ(source.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(source.status().message()), HasSubstr("/nowhere/data"));
}

TEST(ByteSourceTest, DirectoryAndPipeAreRefused) {
  const std::string directory = MakeTestDirectory();
  EXPECT_THAT(std::string(OpenByteSource(directory).status().message()),
              HasSubstr("is not a regular file"));
  const std::string pipe = directory + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(std::string(OpenByteSource(pipe).status().message()),
              HasSubstr("is not a regular file"));
}

TEST(ByteSourceTest, TruncatedGzipNamesFileAndOffsets) {
  const std::string whole = Gzip(Noise(100'000));
  auto [source, path] = OpenContent("file.gz", whole.substr(0, whole.size() / 2));
  const auto all = ReadAll(*source, 1000);
  EXPECT_EQ(all.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(all.status().message()),
              testing::MatchesRegex(path +
                                    ": damaged gzip at byte [0-9]+ of the decompressed "
                                    "stream \\(byte " +
                                    std::to_string(whole.size() / 2) +
                                    " of the file\\): the compressed stream ends here.*"));
}

TEST(ByteSourceTest, WrongChecksumIsFoundAtTheEnd) {
  std::string file = Gzip(Noise(1000));
  file[file.size() - 8] ^= 1;
  auto [source, path] = OpenContent("file.gz", file);
  const auto all = ReadAll(*source, 100);
  EXPECT_THAT(std::string(all.status().message()),
              HasSubstr("damaged gzip at byte 1000 of the decompressed stream"));
  EXPECT_THAT(std::string(all.status().message()), HasSubstr("incorrect data check"));
}

TEST(ByteSourceTest, OtherContentThanGzipAndTrailingGarbage) {
  auto plain = OpenContent("file.gz", "not compressed");
  EXPECT_THAT(std::string(ReadAll(*plain.source, 10).status().message()),
              HasSubstr("byte 0 of the decompressed stream"));
  auto garbage = OpenContent("file.gz", Gzip("data") + "garbage");
  EXPECT_THAT(std::string(ReadAll(*garbage.source, 10).status().message()),
              HasSubstr("damaged gzip at byte 4 of the decompressed stream"));
  auto empty = OpenContent("file.gz", "");
  EXPECT_FALSE(ReadAll(*empty.source, 10).ok());
}

TEST(ByteSourceTest, SkipBytesSaysHowManyThereWere) {
  auto [source, path] = OpenContent("file", Noise(100'000));
  EXPECT_EQ(*SkipBytes(*source, 70'000), 70'000);
  EXPECT_EQ(*SkipBytes(*source, 0), 0);
  EXPECT_EQ(*SkipBytes(*source, 70'000), 30'000);
  EXPECT_EQ(*SkipBytes(*source, 1), 0);
}

}  // namespace
}  // namespace crossover::worker
