#include "os/shared_memory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover::os {
namespace {

using ::testing::HasSubstr;

SharedBuffer Make(size_t bytes) {
  absl::StatusOr<SharedBuffer> buffer = SharedBuffer::Create("test", bytes);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return *std::move(buffer);
}

// Runs `child` in a process of its own; what it returns is its exit code.
template <typename Child>
int InAnotherProcess(Child child) {
  const pid_t pid = fork();
  if (pid == 0) _exit(child());
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SharedMemoryTest, AnotherProcessSeesAndChangesTheSameBytes) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{5000}, (size_t{4} << 20) + 12}) {
    const SharedBuffer buffer = Make(bytes);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_EQ(std::count(buffer.data(), buffer.data() + bytes, std::byte{0}),
              static_cast<ptrdiff_t>(bytes));
    buffer.data()[bytes - 1] = std::byte{7};
    EXPECT_EQ(InAnotherProcess([&] {
                const auto mapped = MappedPeerBuffer::Map(buffer.address());
                if (!mapped.ok() || mapped->data() == buffer.data()) return 1;
                if (mapped->size() != bytes || mapped->data()[bytes - 1] != std::byte{7}) return 2;
                mapped->data()[0] = std::byte{9};
                return 0;
              }),
              0);
    EXPECT_EQ(buffer.data()[0], std::byte{9});
  }
}

TEST(SharedMemoryTest, NoBytesAreABufferToo) {
  const SharedBuffer buffer = Make(0);
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_TRUE(MappedPeerBuffer::Map(buffer.address()).ok());
}

TEST(SharedMemoryTest, LargeBuffersSuitHugePages) {
  const SharedBuffer buffer = Make(size_t{3} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (2 << 20), 0u);
}

TEST(SharedMemoryTest, MovingGivesTheMemoryAway) {
  SharedBuffer first = Make(100);
  std::byte* const data = first.data();
  data[3] = std::byte{3};
  SharedBuffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  second = Make(50);
  EXPECT_EQ(second.size(), 50u);
  EXPECT_EQ(second.data()[3], std::byte{0});
}

TEST(SharedMemoryTest, MemoryOutlivesItsOwnerForThoseWhoMappedIt) {
  int to_parent[2];
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const absl::StatusOr<SharedBuffer> buffer = SharedBuffer::Create("child", 10);
    if (!buffer.ok()) _exit(1);
    buffer->data()[0] = std::byte{5};
    const SharedBufferAddress address = buffer->address();
    if (write(to_parent[1], &address, sizeof(address)) != sizeof(address)) _exit(1);
    pause();
  }
  SharedBufferAddress address;
  ASSERT_EQ(read(to_parent[0], &address, sizeof(address)), static_cast<ssize_t>(sizeof(address)));
  const absl::StatusOr<MappedPeerBuffer> mapped = MappedPeerBuffer::Map(address);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(mapped->data()[0], std::byte{5});
  const absl::Status late = MappedPeerBuffer::Map(address).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(late.message()), HasSubstr("of process " + std::to_string(pid)));
  close(to_parent[0]);
  close(to_parent[1]);
}

TEST(SharedMemoryTest, RefusesWhatIsNotTheBuffer) {
  const SharedBuffer buffer = Make(100);
  SharedBufferAddress address = buffer.address();
  address.bytes = 5000;  // more than its page
  EXPECT_THAT(std::string(MappedPeerBuffer::Map(address).status().message()),
              HasSubstr("it has 4096 bytes, not 5000"));
  address = buffer.address();
  ++address.inode;
  EXPECT_THAT(std::string(MappedPeerBuffer::Map(address).status().message()),
              HasSubstr("not the buffer that was meant"));
  // A memfd that its owner could cut short.
  const UniqueFd plain(memfd_create("plain", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(plain.get(), 4096), 0);
  address = {getpid(), plain.get(), buffer.address().inode, 100};
  EXPECT_FALSE(MappedPeerBuffer::Map(address).ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  address.fd = ends[0];
  EXPECT_FALSE(MappedPeerBuffer::Map(address).ok());
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(MappedPeerBuffer::Map(address).status().code(), absl::StatusCode::kNotFound);
}

TEST(SharedMemoryTest, ItsOwnerCannotCutItShort) {
  const SharedBuffer buffer = Make(100);
  EXPECT_NE(ftruncate(buffer.fd(), 0), 0);
}

TEST(SharedMemoryTest, MoreThanThereIsIsAnError) {
  for (const size_t bytes : {size_t{1} << 50, size_t{1} << 63, ~size_t{0}}) {
    const absl::Status status = SharedBuffer::Create("huge", bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("shared buffer huge of"));
  }
}

TEST(SharedMemoryTest, AddressesAreText) {
  const SharedBufferAddress address = {12, 3, 456, 1 << 20};
  EXPECT_EQ(ToString(address), "12:3:456:1048576");
  const auto parsed = ParseSharedBufferAddress("12:3:456:1048576");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, address);
  for (const char* text : {"", "1:2:3", "1:2:3:4:5", "0:2:3:4", "1:-2:3:4", "1:2:3:-4", "a:2:3:4",
                           "1:2:3:99999999999999999999", "1/../2:3:4:5"}) {
    EXPECT_FALSE(ParseSharedBufferAddress(text).ok()) << text;
  }
}

TEST(SharedBufferRegistryTest, FindsRangesThatLieInOneBuffer) {
  SharedBufferRegistry registry;
  const auto a = registry.Allocate("a", 100);
  const auto b = registry.Allocate("b", 8192);
  ASSERT_TRUE(a.ok() && b.ok());
  const auto place = registry.Find(*b + 10, 8182);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->offset, 10u);
  EXPECT_EQ(place->buffer.bytes, 8192u);
  EXPECT_EQ(registry.Find(*a + 100, 0)->buffer.bytes, 100u);
  EXPECT_FALSE(registry.Find(*b + 10, 8183).has_value());
  EXPECT_FALSE(registry.Find(*a + 101, 0).has_value());
  EXPECT_FALSE(registry.Find(*a, ~size_t{0}).has_value());
  const std::vector<std::byte> elsewhere(10);
  EXPECT_FALSE(registry.Find(elsewhere.data(), 10).has_value());
  EXPECT_FALSE(registry.Find(nullptr, 0).has_value());
  registry.Free(*a);
  EXPECT_FALSE(registry.Find(*a, 100).has_value());
  EXPECT_TRUE(registry.Find(*b, 1).has_value());
}

TEST(SharedBufferRegistryDeathTest, FreesWhatItGave) {
  SharedBufferRegistry registry;
  std::byte byte;
  EXPECT_DEATH(registry.Free(&byte), "only what was allocated here");
}

}  // namespace
}  // namespace crossover::os
