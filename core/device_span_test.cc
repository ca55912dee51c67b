#include "core/device_span.h"

#include "gtest/gtest.h"

namespace crossover {
namespace {

TEST(DeviceSpanTest, HostGivesTheValuesThemselves) {
  float values[3] = {1, 2, 3};
  const DeviceSpan span = {.data = values, .length = 3};
  EXPECT_EQ(span.host().data(), values);
  EXPECT_EQ(span.host().size(), 3u);
  span.host()[1] = 7;
  EXPECT_EQ(values[1], 7);
  EXPECT_TRUE(DeviceSpan().host().empty());
}

TEST(DeviceSpanDeathTest, RefusesToDereferenceAnotherDevicesMemory) {
  const DeviceSpan span = {.data = nullptr, .length = 3, .device = static_cast<Device>(1)};
  EXPECT_DEATH(span.host(), "not in host memory");
}

}  // namespace
}  // namespace crossover
