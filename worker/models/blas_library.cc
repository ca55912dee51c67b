#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "worker/models/model.h"

namespace crossover::worker {
namespace {

std::string RealPath(const char* path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path, nullptr), &std::free);
  return resolved ? resolved.get() : path;
}

// The file that the running process binds a symbol to, or "".
std::string LibraryOf(const char* symbol) {
  void* address = dlsym(RTLD_DEFAULT, symbol);
  Dl_info info = {};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  return RealPath(info.dli_fname);
}

}  // namespace

std::string BlasLibraryPath() {
  // The matrix product that LibTorch calls. Where the file that answers to
  // libblas.so.3 only passes on to OpenBLAS, the name of its folder tells the build.
  return LibraryOf("sgemm_");
}

}  // namespace crossover::worker
