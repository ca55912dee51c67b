#include "experiments/hosts/sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"

namespace crossover::experiments {
namespace {

std::string HashOf(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Finish();
}

// FIPS 180-4's examples.
TEST(Sha256, GivesThePublishedHashes) {
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashOf(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
  for (const size_t length : {55u, 56u, 63u, 64u, 65u, 119u, 128u}) {
    const std::string text(length, 'x');
    Sha256 hash;
    for (const char& byte : text) hash.Add({&byte, 1});
    EXPECT_EQ(hash.Finish(), HashOf(text)) << length;
  }
}

TEST(Sha256, HashesFilesAndNamesTheOneThatCannotBeRead) {
  const std::string path = testing::TempDir() + "/abc";
  ASSERT_TRUE(os::WriteFile(path, "abc").ok());
  const auto hash = HashFile(path);
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(hash->sha256, HashOf("abc"));
  EXPECT_EQ(hash->bytes, 3);
  EXPECT_THAT(HashFile("/nowhere/data").status().message(), testing::HasSubstr("/nowhere/data"));
  EXPECT_FALSE(HashFile(testing::TempDir()).ok());
}

}  // namespace
}  // namespace crossover::experiments
