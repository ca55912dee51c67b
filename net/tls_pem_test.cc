#include "net/tls_pem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "os/files.h"

namespace crossover::net {
namespace {

using ::testing::HasSubstr;

std::string Error(const std::string& pem) { return std::string(CheckTlsPem(pem).message()); }

// The block of a PEM text that has this word in its first line.
std::string Block(const std::string& pem, const std::string& word) {
  const size_t begin = pem.find("-----BEGIN " + word);
  const std::string end = "-----END " + word + "-----\n";
  return pem.substr(begin, pem.find(end, begin) + end.size() - begin);
}

TEST(TlsPem, WhatIsMadeMayBeUsed) {
  const absl::StatusOr<std::string> pem = MakeTlsPem();
  ASSERT_TRUE(pem.ok()) << pem.status();
  EXPECT_EQ(Error(*pem), "");
  EXPECT_EQ(Error(Block(*pem, "PRIVATE KEY") + Block(*pem, "CERTIFICATE")), "");
  EXPECT_NE(*pem, *MakeTlsPem());
}

TEST(TlsPem, OtherTextIsRefusedWithTheFix) {
  const std::string one = *MakeTlsPem();
  const std::string other = *MakeTlsPem();
  EXPECT_THAT(Error(""), HasSubstr("there is no certificate; allowed: "));
  EXPECT_THAT(Error(std::string(1000, '\0')), HasSubstr("there is no certificate"));
  EXPECT_THAT(Error(one.substr(0, one.size() / 4)), HasSubstr("fix: openssl req -x509"));
  EXPECT_THAT(Error(Block(one, "CERTIFICATE")), HasSubstr("no private key"));
  EXPECT_THAT(Error(Block(one, "PRIVATE KEY")), HasSubstr("no certificate"));
  EXPECT_THAT(Error(Block(one, "CERTIFICATE") + Block(other, "PRIVATE KEY")),
              HasSubstr("the private key is not the certificate's"));
}

// Whoever a certificate authority vouches for would be believed.
TEST(TlsPem, OneCertificateAloneIsAllowed) {
  const std::string one = *MakeTlsPem();
  const std::string other = *MakeTlsPem();
  EXPECT_THAT(Error(one + Block(other, "CERTIFICATE")), HasSubstr("more than one certificate"));
}

TEST(TlsPem, ACertificateForAnotherNameOrTimeIsRefused) {
  for (const auto& [name, why] :
       {std::pair("other_name", "for another name"), std::pair("not_yet_valid", "not valid yet"),
        std::pair("expired", "valid no more")}) {
    const absl::StatusOr<std::string> pem =
        os::ReadFile(absl::StrCat("net/testdata/tls_", name, ".pem"));
    ASSERT_TRUE(pem.ok()) << pem.status();
    EXPECT_THAT(Error(*pem), HasSubstr(why));
  }
}

}  // namespace
}  // namespace crossover::net
