#include "lab/namespaces.h"

#include <gtest/gtest.h>

namespace crossover::lab {
namespace {

TEST(NamespacesTest, NamesCarryTheirOwner) {
  EXPECT_EQ(NamespaceName(123, "", "worker0"), "xo-123-worker0");
  EXPECT_EQ(NamespaceName(123, "unshaped", "worker0"), "xo-123-unshaped-worker0");
  EXPECT_EQ(NamespaceOwner("xo-123-worker0"), 123);
  EXPECT_EQ(NamespaceOwner("xo-123-unshaped-worker0"), 123);
}

TEST(NamespacesTest, OtherNamesAreNobodys) {
  for (const char* name :
       {"", "xo-", "xo-123", "xo-123-", "xo--worker0", "xo-12x-worker0", "xo-+1-worker0",
        "xo-0-worker0", "xo-99999999999-worker0", "pr_n1", "123-worker0"}) {
    EXPECT_EQ(NamespaceOwner(name), std::nullopt) << name;
  }
}

TEST(NamespacesTest, AnUnknownNamespaceIsNamed) {
  const absl::Status status = ScopedNamespace::Enter("xo-1-nowhere").status();
  EXPECT_NE(std::string(status.message()).find("xo-1-nowhere"), std::string::npos) << status;
}

}  // namespace
}  // namespace crossover::lab
