#include "bench/comm/results.h"

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "bench/comm/cells.h"
#include "bench/comm/fit.h"
#include "bench/comm/record_check.h"
#include "bench/comm/table.h"
#include "core/status.h"
#include "os/files.h"
#include "os/host_identity.h"

namespace crossover::bench {

absl::Status Print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot write to standard output");
}

Results::Results(std::string json_path) : json_path_(std::move(json_path)), host_(os::HostName()) {}

absl::Status Results::Begin(const std::string& fit_path) const {
  if (!fit_path.empty()) RETURN_IF_ERROR(os::CheckWritable(fit_path));
  return json_path_.empty() ? absl::OkStatus() : os::WriteFile(json_path_, "");
}

void Results::Take(const Record& record) {
  records_.push_back(record);
  Record& taken = records_.back();
  if (taken.host.empty()) taken.host = host_;
  if (!json_path_.empty() && written_.ok()) {
    written_ = os::AppendLine(json_path_, WriteRecord(taken));
  }
}

absl::Status Results::Report(const std::string& fit_path) const {
  const absl::Status printed = Print(Tables(SeriesOf(records_)));
  RETURN_IF_ERROR(CheckRecords(records_));
  RETURN_IF_ERROR(written_);
  if (!fit_path.empty()) {
    const std::vector<Fit> fits = FitCosts(records_);
    RETURN_IF_ERROR(CheckFits(fits, fit_path));
    RETURN_IF_ERROR(os::WriteFile(fit_path, WriteFits(fits)));
  }
  return printed;
}

}  // namespace crossover::bench
