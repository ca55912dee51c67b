#include "net/splice_sender.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "net/endpoint_test_support.h"

namespace crossover::net {
namespace {

using os::UniqueFd;

// Two ends of a TCP connection over loopback, which do not block.
std::pair<UniqueFd, UniqueFd> MakeConnection() {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  UniqueFd near(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(connect(near.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  UniqueFd far(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
  EXPECT_EQ(fcntl(near.get(), F_SETFL, O_NONBLOCK), 0);
  return {std::move(near), std::move(far)};
}

// Offers `data` from `sent` on, and receives what is there; false once nothing moves.
bool Move(SpliceSender& sender, int near, int far, const Bytes& data, size_t& sent, Bytes& into) {
  bool moved = false;
  if (sent < data.size()) {
    const ssize_t n = sender.Send(near, std::span(data).subspan(sent));
    EXPECT_TRUE(n > 0 || (n < 0 && errno == EAGAIN)) << n;
    if (n > 0) sent += static_cast<size_t>(n);
    moved = n > 0;
  }
  Bytes piece(100'000);
  const ssize_t n = recv(far, piece.data(), piece.size(), 0);
  if (n > 0) into.insert(into.end(), piece.begin(), piece.begin() + n);
  return moved || n > 0;
}

TEST(SpliceSenderTest, BytesArriveInOrderFromAnyAlignment) {
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{4095}}) {
    const auto [near, far] = MakeConnection();
    SpliceSender sender;
    const Bytes all = Pattern(8 << 20, 1);
    const Bytes data(all.begin() + offset, all.end());
    Bytes into;
    size_t sent = 0;
    while (into.size() < data.size()) Move(sender, near.get(), far.get(), data, sent, into);
    EXPECT_EQ(sent, data.size());
    EXPECT_EQ(sender.bytes_in_pipe(), 0u);
    EXPECT_TRUE(SameBytes(into, data));
  }
}

TEST(SpliceSenderTest, CountsOnlyWhatHasLeftThePipe) {
  const auto [near, far] = MakeConnection();
  SpliceSender sender;
  const Bytes data = Pattern(64 << 20, 1);  // more than a socket and a pipe take
  size_t sent = 0;
  while (true) {
    const ssize_t n = sender.Send(near.get(), std::span(data).subspan(sent));
    if (n < 0) {
      EXPECT_EQ(errno, EAGAIN);
      break;
    }
    sent += static_cast<size_t>(n);
  }
  EXPECT_GT(sent, 0u);
  EXPECT_LT(sent, data.size());
  EXPECT_GT(sender.bytes_in_pipe(), 0u);
  EXPECT_LE(sender.bytes_in_pipe(), size_t{1} << 20);
  // Exactly the rest of the offer that holds the pipe's bytes, and no more.
  const Bytes offered(data.begin(), data.begin() + sent + sender.bytes_in_pipe());
  Bytes into;
  while (into.size() < offered.size()) Move(sender, near.get(), far.get(), offered, sent, into);
  EXPECT_TRUE(SameBytes(into, offered));
  EXPECT_FALSE(Move(sender, near.get(), far.get(), offered, sent, into)) << "nothing is left over";
}

TEST(SpliceSenderTest, WhatIsBorrowedIsReadWhenItIsReceived) {
  const auto [near, far] = MakeConnection();
  SpliceSender sender;
  Bytes data(4096, std::byte{1});
  ASSERT_EQ(sender.Send(near.get(), data), 4096);
  std::fill(data.begin(), data.end(), std::byte{2});
  Bytes into(4096);
  ASSERT_EQ(recv(far.get(), into.data(), into.size(), MSG_WAITALL), 4096);
  EXPECT_EQ(into[0], std::byte{2}) << "nobody copied it on the way";
}

TEST(SpliceSenderTest, CopiesWhereThereIsNoPipe) {
  const auto [near, far] = MakeConnection();
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  SpliceSender sender;
  Bytes data(4096, std::byte{1});
  EXPECT_EQ(sender.Send(near.get(), data), 4096);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::fill(data.begin(), data.end(), std::byte{2});
  Bytes into(4096);
  ASSERT_EQ(recv(far.get(), into.data(), into.size(), MSG_WAITALL), 4096);
  EXPECT_EQ(into, Bytes(4096, std::byte{1}));
}

TEST(SpliceSenderTest, ABrokenConnectionIsAnError) {
  SpliceSender::IgnoreBrokenPipes();
  auto [near, far] = MakeConnection();
  SpliceSender sender;
  const Bytes data(4096);
  far.Reset();
  ssize_t n = 0;
  for (int i = 0; i < 1000 && (n >= 0 || errno == EAGAIN); ++i) n = sender.Send(near.get(), data);
  EXPECT_EQ(n, -1);
  EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET) << errno;
}

}  // namespace
}  // namespace crossover::net
