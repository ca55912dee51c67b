#include "worker/data/test_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace crossover::worker {

std::string MakeTestDirectory() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) /
      (std::string(test->test_suite_name()) + "." + test->name());
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory.string();
}

void WriteTestFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string Gzip(const std::string& content) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(deflateBound(&stream, content.size()), '\0');
  std::string input = content;  // zlib's pointers are not const
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string IdxImages(int count, int height, int width) {
  std::string file = BigEndian(0x803) + BigEndian(count) + BigEndian(height) + BigEndian(width);
  for (int i = 0; i < count; ++i) {
    for (int p = 0; p < height * width; ++p) file += static_cast<char>((i + p) % 256);
  }
  return file;
}

std::string IdxLabels(const std::vector<uint8_t>& labels) {
  return BigEndian(0x801) + BigEndian(static_cast<uint32_t>(labels.size())) +
         std::string(labels.begin(), labels.end());
}

}  // namespace crossover::worker
