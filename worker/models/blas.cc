#include "worker/models/blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "os/environment.h"

namespace crossover::worker {
namespace {

constexpr char kChoice[] = "OPENBLAS_CORETYPE";
// Whose kernels OpenBLAS takes for a processor that it does not know.
constexpr char kFallback[] = "Prescott";

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

template <typename Function>
Function* FunctionOf(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, symbol));
}

// The processor whose kernels OpenBLAS runs; "" with another BLAS.
std::string KernelsInUse() {
  auto* const name = FunctionOf<char*()>("openblas_get_corename");
  return name == nullptr ? "" : name();
}

// Kernels of the widest vectors that the processor has; null if it has no AVX2.
const char* WidestKernels() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

}  // namespace

std::string DescribeBlas() {
  // The matrix product that LibTorch calls. Where the file that answers to
  // libblas.so.3 only passes on to OpenBLAS, the name of its folder tells the build.
  const std::string library = LibraryOf("sgemm_");
  const std::string kernels = KernelsInUse();
  return kernels.empty() ? library : absl::StrCat(library, " (", kernels, ")");
}

std::string TakeBlasKernelsOfProcessor() {
  const char* const widest = WidestKernels();
  if (KernelsInUse() != kFallback || widest == nullptr) return "";
  if (absl::StrContains(os::BlasOverrides(), kChoice)) return "";
  if (!TakeBlasKernels(widest)) {
    return absl::StrCat(
        "OpenBLAS does not know this processor's model and runs kernels without "
        "AVX; fix: export ",
        kChoice, "=", widest);
  }
  return absl::StrCat("OpenBLAS does not know this processor's model: kernels of ", KernelsInUse(),
                      " instead of ", kFallback);
}

bool TakeBlasKernels(const char* name) {
  // What the library's own start does, done again.
  auto* const quit = FunctionOf<void()>("gotoblas_dynamic_quit");
  auto* const start = FunctionOf<void()>("gotoblas_dynamic_init");
  if (quit == nullptr || start == nullptr) return false;
  setenv(kChoice, name, 1);
  quit();
  start();
  unsetenv(kChoice);
  return true;
}

}  // namespace crossover::worker
