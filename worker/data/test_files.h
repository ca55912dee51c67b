// Makes small data files for the tests of this package.
#ifndef CROSSOVER_WORKER_DATA_TEST_FILES_H_
#define CROSSOVER_WORKER_DATA_TEST_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace crossover::worker {

// A new, empty directory of the running test case.
std::string MakeTestDirectory();
void WriteTestFile(const std::string& path, const std::string& content);
// One gzip member.
std::string Gzip(const std::string& content);

// IDX files: `count` images with pixel p of image i = (i + p) % 256, and labels.
std::string IdxImages(int count, int height, int width);
std::string IdxLabels(const std::vector<uint8_t>& labels);
// The four bytes of an IDX size.
std::string BigEndian(uint32_t value);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_DATA_TEST_FILES_H_
