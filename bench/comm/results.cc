#include "bench/comm/results.h"

#include <cstdio>

#include "bench/comm/cells.h"
#include "bench/comm/fit.h"
#include "bench/comm/record_check.h"
#include "bench/comm/table.h"
#include "core/status.h"
#include "os/files.h"

namespace crossover::bench {

absl::Status Results::Begin() const {
  return json_path_.empty() ? absl::OkStatus() : os::WriteFile(json_path_, "");
}

void Results::Take(const Record& record) {
  records_.push_back(record);
  if (!json_path_.empty() && written_.ok()) {
    written_ = os::AppendLine(json_path_, WriteRecord(record));
  }
}

absl::Status Results::Report(const std::string& fit_path) const {
  std::fputs(Tables(SeriesOf(records_)).c_str(), stdout);
  std::fflush(stdout);
  RETURN_IF_ERROR(written_);
  if (!fit_path.empty()) {
    RETURN_IF_ERROR(os::WriteFile(fit_path, WriteFits(FitCosts(records_))));
  }
  return CheckRecords(records_);
}

}  // namespace crossover::bench
