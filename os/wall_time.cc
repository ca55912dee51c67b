#include "os/wall_time.h"

#include <chrono>
#include <ctime>

namespace crossover::os {
namespace {

std::string Format(const char* format, std::tm* (*convert)(const std::time_t*, std::tm*)) {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  convert(&now, &fields);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &fields)};
}

}  // namespace

std::string IsoTime() { return Format("%Y-%m-%dT%H:%M:%SZ", gmtime_r); }

std::string FolderTime() { return Format("%Y%m%d-%H%M%S", localtime_r); }

int64_t WallTimeNs() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

}  // namespace crossover::os
