#include "net/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "os/unique_fd.h"

namespace crossover::net {
namespace {

using ::testing::HasSubstr;

os::UniqueFd ListenOn(const std::string& name) {
  os::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(fd.get(), 1), 0);
  return fd;
}

TEST(UnixSocket, NamesDifferAndAreValid) {
  const std::string name = NewUnixSocketName();
  EXPECT_NE(name, NewUnixSocketName());
  EXPECT_TRUE(CheckUnixSocketName(name).ok()) << name;
  EXPECT_TRUE(CheckUnixSocketName("").ok());
  EXPECT_EQ(UnixSocketUri(name), "unix-abstract:" + name);
}

TEST(UnixSocket, OtherNamesAreRefused) {
  for (const std::string name :
       {"crossover-", "crossover-0123456789abcde", "crossover-0123456789abcdefg",
        "crossover-0123456789abcdeg", "/tmp/socket", "crossover-01234567/9abcdef"}) {
    EXPECT_THAT(std::string(CheckUnixSocketName(name).message()), HasSubstr("'" + name + "'"));
  }
  const std::string with_zero("crossover-0123456789abcd\0e", 26);
  EXPECT_FALSE(CheckUnixSocketName(with_zero).ok());
  EXPECT_LT(CheckUnixSocketName(std::string(1 << 20, 'x')).message().size(), 300);
}

TEST(UnixSocket, ListensAsLongAsSomebodyDoes) {
  const std::string name = NewUnixSocketName();
  EXPECT_FALSE(UnixSocketListens(name));
  {
    const os::UniqueFd listener = ListenOn(name);
    EXPECT_TRUE(UnixSocketListens(name));
  }
  EXPECT_FALSE(UnixSocketListens(name));
  EXPECT_FALSE(UnixSocketListens(""));
  EXPECT_FALSE(UnixSocketListens(std::string(200, 'x')));
}

}  // namespace
}  // namespace crossover::net
