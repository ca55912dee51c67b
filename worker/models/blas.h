// The BLAS that serves LibTorch in this process: which it is, and with which of its kernels.
#ifndef CROSSOVER_WORKER_MODELS_BLAS_H_
#define CROSSOVER_WORKER_MODELS_BLAS_H_

#include <string>

namespace crossover::worker {

// The shared library, as the kernel mapped it, and in brackets the processor whose kernels OpenBLAS
// runs: "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3 (Haswell)".
std::string DescribeBlas();

// OpenBLAS before 0.3.25 takes kernels by the processor's model, and for an Intel one that is newer
// than itself those of Prescott, which know no AVX: a quarter of the speed. Where it did so, takes
// the kernels of the vectors that the processor has instead, and returns a line for the log; else
// does nothing and returns "". A kernel that the user chose (OPENBLAS_CORETYPE) stays. Not
// thread-safe: to be called before there is a second thread, and before any arithmetic.
std::string TakeBlasKernelsOfProcessor();

// Has OpenBLAS take the kernels that it knows by this name (OPENBLAS_CORETYPE's). False if the
// library has no way to. As TakeBlasKernelsOfProcessor otherwise.
bool TakeBlasKernels(const char* name);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_BLAS_H_
