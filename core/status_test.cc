#include "core/status.h"

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace crossover {
namespace {

absl::Status ReturnsEarly(const absl::Status& status_, bool& reached_end) {
  // The argument's name must not clash with one inside the macro.
  RETURN_IF_ERROR(status_);
  reached_end = true;
  return absl::OkStatus();
}

absl::StatusOr<int> Sum(const absl::StatusOr<int>& a, absl::StatusOr<int> b) {
  ASSIGN_OR_RETURN(const int first, a);
  int second = 0;
  ASSIGN_OR_RETURN(second, std::move(b));
  return first + second;
}

absl::StatusOr<int> Unwrap(absl::StatusOr<std::unique_ptr<int>> box) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> owned, std::move(box));
  return *owned;
}

TEST(StatusTest, ReturnIfErrorReturnsOnlyErrors) {
  bool reached_end = false;
  EXPECT_EQ(ReturnsEarly(absl::NotFoundError("gone"), reached_end), absl::NotFoundError("gone"));
  EXPECT_FALSE(reached_end);
  EXPECT_TRUE(ReturnsEarly(absl::OkStatus(), reached_end).ok());
  EXPECT_TRUE(reached_end);
}

TEST(StatusTest, AssignOrReturnTakesTheValueOrReturnsTheError) {
  EXPECT_EQ(Sum(1, 2).value(), 3);
  EXPECT_EQ(Sum(absl::AbortedError("a"), 2).status(), absl::AbortedError("a"));
  EXPECT_EQ(Sum(1, absl::AbortedError("b")).status(), absl::AbortedError("b"));
}

TEST(StatusTest, AssignOrReturnMovesWhatCannotBeCopied) {
  EXPECT_EQ(Unwrap(std::make_unique<int>(4)).value(), 4);
  EXPECT_EQ(Unwrap(absl::AbortedError("none")).status(), absl::AbortedError("none"));
}

TEST(StatusTest, AnnotatePutsWhoAndWhereBeforeWhat) {
  EXPECT_EQ(Annotate(absl::UnavailableError("connection refused"), "worker 2 at 10.0.0.1:7: "),
            absl::UnavailableError("worker 2 at 10.0.0.1:7: connection refused"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "worker 2: ").ok());
}

}  // namespace
}  // namespace crossover
