#include "bench/comm_fixture.h"

#include "absl/strings/str_cat.h"
#include "os/files.h"

namespace crossover::bench {

std::vector<Record> CommTest::Lines(const std::string& path) const {
  const auto text = os::ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  const auto records = ReadRecords(text.value_or(""));
  EXPECT_TRUE(records.ok()) << records.status();
  return records.value_or(std::vector<Record>());
}

pid_t CommTest::RankOf(const experiments::ChildProcess& test, int rank) {
  return ProcessWith(test, {absl::StrCat("--rank=", rank)});
}

}  // namespace crossover::bench
