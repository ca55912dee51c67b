#include "net/identity.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/tls_pem.h"

namespace crossover::net {
namespace {

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(chmod(path.c_str(), 0600), 0);
  return path;
}

TEST(IdentityTest, NamesProcesses) {
  EXPECT_EQ(ProcessName(Role::kWorker, 3), "worker 3");
  EXPECT_EQ(ProcessName(Role::kServer, 0), "server 0");
}

TEST(IdentityTest, TokensAre32HexadecimalDigitsAndDiffer) {
  const std::string token = MakeToken();
  EXPECT_EQ(token.size(), 32u);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, MakeToken());
}

TEST(IdentityTest, ComparesTokens) {
  EXPECT_TRUE(TokensEqual("", ""));
  EXPECT_TRUE(TokensEqual("abc", "abc"));
  EXPECT_FALSE(TokensEqual("abc", "abd"));
  EXPECT_FALSE(TokensEqual("xbc", "abc"));
  EXPECT_FALSE(TokensEqual("abc", "abcd"));
  EXPECT_FALSE(TokensEqual("abc", ""));
}

TEST(IdentityTest, ReadsATokenWithOrWithoutEndOfLine) {
  const std::string token = "0123456789abcdef";  // the shortest that is allowed
  EXPECT_EQ(ReadTokenFile(WriteFile("plain", token)).value(), token);
  EXPECT_EQ(ReadTokenFile(WriteFile("newline", token + "\n")).value(), token);
  EXPECT_EQ(ReadTokenFile(WriteFile("crlf", token + "\r\n")).value(), token);
}

TEST(IdentityTest, RefusesBadTokenFilesByName) {
  const std::string token = "0123456789abcdef";
  for (const std::string& text :
       {std::string(), token.substr(1), token + "\n" + token, token + " x", token + "\xff",
        token + std::string(1, '\0'), std::string(257, 'a'), std::string(100000, 'a')}) {
    const std::string path = WriteFile("bad_token", text);
    const absl::StatusOr<std::string> read = ReadTokenFile(path);
    ASSERT_FALSE(read.ok()) << text.size() << " characters";
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(read.status().message(), path)) << read.status();
  }
  const absl::StatusOr<std::string> missing = ReadTokenFile("/no/such/file");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.status().message(), "/no/such/file"));
}

TEST(IdentityTest, RefusesATokenFileThatOthersMayRead) {
  const std::string path = WriteFile("shared_token", "0123456789abcdef");
  for (const mode_t mode : {0640, 0604, 0620, 0644}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status status = ReadTokenFile(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << mode;
    EXPECT_TRUE(absl::StrContains(status.message(), "fix: chmod 600 " + path)) << status;
  }
  EXPECT_TRUE(absl::StrContains(ReadTokenFile(path).status().message(), "has mode 0644"));
  for (const mode_t mode : {0600, 0400}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(ReadTokenFile(path).ok()) << mode;
  }
}

TEST(IdentityTest, ReadsATlsFileThatIsItsOwnersAlone) {
  const std::string pem = *MakeTlsPem();
  const std::string path = WriteFile("tls", pem);
  const absl::StatusOr<std::string> read = ReadTlsFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, pem);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(ReadTlsFile(path).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReadTlsFile("/no/such/file").status().code(), absl::StatusCode::kNotFound);
  const std::string no_pem = WriteFile("no_tls", "certificate");
  EXPECT_TRUE(absl::StrContains(ReadTlsFile(no_pem).status().message(),
                                absl::StrCat("TLS file ", no_pem, ": there is no certificate")));
  const std::string long_text = WriteFile("long_tls", pem + std::string(65536, ' '));
  EXPECT_TRUE(
      absl::StrContains(ReadTlsFile(long_text).status().message(), "more than 65536 bytes"));
}

TEST(IdentityTest, RefusesAStrangerSayingWhyAndNeverTheToken) {
  Identity ours;
  ours.job_fingerprint = 0xabc;
  ours.token = "0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(CheckCaller(ours, 0xabc, ours.token, "worker 1").ok());

  const absl::Status wrong_token = CheckCaller(ours, 0xabc, "sesame", "worker 1 at a:1");
  EXPECT_EQ(wrong_token.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(absl::StrContains(wrong_token.message(), "worker 1 at a:1 has the wrong token"));
  EXPECT_FALSE(absl::StrContains(wrong_token.message(), ours.token));
  EXPECT_FALSE(absl::StrContains(wrong_token.message(), "sesame"));

  const absl::Status other_job = CheckCaller(ours, 0xdef, ours.token, "worker 1 at a:1");
  EXPECT_EQ(other_job.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(other_job.message(), "another job")) << other_job;
  EXPECT_TRUE(absl::StrContains(other_job.message(), "0000000000000def")) << other_job;
  EXPECT_FALSE(absl::StrContains(other_job.message(), ours.token));

  // A stranger learns nothing of the job.
  EXPECT_EQ(CheckCaller(ours, 0xdef, "", "x").code(), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace crossover::net
