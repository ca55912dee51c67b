#include "os/resident_memory.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace crossover::os {

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  if (!(statm >> total_pages >> resident_pages)) return 0;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

int64_t AvailableBytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  int64_t value_kib = 0;
  while (meminfo >> name >> value_kib) {
    if (name == "MemAvailable:") return value_kib * 1024;
    std::getline(meminfo, name);  // the unit
  }
  return 0;
}

}  // namespace crossover::os
