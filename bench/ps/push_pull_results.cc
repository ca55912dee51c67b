#include "bench/ps/push_pull_results.h"

#include <cstdio>

#include "bench/comm/record_check.h"
#include "core/status.h"
#include "os/files.h"

namespace crossover::bench {

absl::Status PushPullResults::Begin() const {
  return json_path_.empty() ? absl::OkStatus() : os::WriteFile(json_path_, "");
}

void PushPullResults::Take(const PushPullRecord& record) {
  lines_.ours.push_back(record);
  Write(WritePushPull(record));
}

void PushPullResults::Take(const Record& record) {
  lines_.beside.push_back(record);
  Write(WriteRecord(record));
}

void PushPullResults::Write(const std::string& line) {
  if (!json_path_.empty() && written_.ok()) written_ = os::AppendLine(json_path_, line);
}

absl::Status PushPullResults::Report() const {
  std::fputs(Tables(SeriesOf(lines_)).c_str(), stdout);
  std::fflush(stdout);
  RETURN_IF_ERROR(written_);
  RETURN_IF_ERROR(CheckRecords(lines_.beside));
  return CheckLines(lines_.ours);
}

}  // namespace crossover::bench
