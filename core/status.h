// RETURN_IF_ERROR and ASSIGN_OR_RETURN for absl::Status, and Annotate, which
// puts who and where before a message that says what.
#ifndef CROSSOVER_CORE_STATUS_H_
#define CROSSOVER_CORE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace crossover {

// The same status with `prefix` before its message; OK stays OK.
inline absl::Status Annotate(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

}  // namespace crossover

#define CROSSOVER_CONCAT_INNER(a, b) a##b
#define CROSSOVER_CONCAT(a, b) CROSSOVER_CONCAT_INNER(a, b)

// The long name keeps clear of names in `expression`.
#define RETURN_IF_ERROR(expression)                                 \
  do {                                                              \
    if (absl::Status crossover_status_of_expression = (expression); \
        !crossover_status_of_expression.ok()) {                     \
      return crossover_status_of_expression;                        \
    }                                                               \
  } while (false)

// `target` may be a declaration. Expands to several statements: not after a bare
// if or for.
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_IMPL(CROSSOVER_CONCAT(status_or_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_IMPL(temporary, target, expression) \
  auto temporary = (expression);                             \
  if (!temporary.ok()) return std::move(temporary).status(); \
  target = std::move(temporary).value()

#endif  // CROSSOVER_CORE_STATUS_H_
