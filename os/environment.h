// The one place where environment variables are read and set.
#ifndef CROSSOVER_OS_ENVIRONMENT_H_
#define CROSSOVER_OS_ENVIRONMENT_H_

#include <string>

namespace crossover::os {

// A path as the user meant it: relative ones are taken from where the user stood.
// `bazel run` changes the working directory and says in BUILD_WORKING_DIRECTORY
// where that was.
std::string ResolveUserPath(const std::string& path);

// The source tree that the program was built from, as `bazel run` says in
// BUILD_WORKSPACE_DIRECTORY; "" if unknown.
std::string SourceTree();

// The BLAS overrides that a machine may set for its processor ("OPENBLAS_CORETYPE=Zen"),
// for the record; "" if there are none.
std::string BlasOverrides();

// The connection that sshd started this program for: "CLIENT PORT SERVER PORT" with the
// addresses of both ends; "" if there is none.
std::string SshConnection();

// For a library that reads the variable: gives it a value unless it has one. Before any thread is
// started.
void SetUnlessSet(const char* name, const char* value);

}  // namespace crossover::os

#endif  // CROSSOVER_OS_ENVIRONMENT_H_
