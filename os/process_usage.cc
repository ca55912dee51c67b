#include "os/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include "os/host_identity.h"

namespace crossover::os {
namespace {

double Seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

}  // namespace

proto::ProcessReport DescribeProcess() {
  proto::ProcessReport report;
  report.set_host(HostName());
  report.set_pid(getpid());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report.set_peak_rss_bytes(int64_t{usage.ru_maxrss} * 1024);  // Linux counts KiB
  report.set_cpu_s(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  return report;
}

}  // namespace crossover::os
