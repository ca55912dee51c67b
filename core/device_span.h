// A stretch of fp32 values and where it lives. Code between Model and Strategy
// passes these and does not assume that they can be dereferenced: a buffer may
// one day live on a GPU. Borrowed, like std::span: owns nothing.
#ifndef CROSSOVER_CORE_DEVICE_SPAN_H_
#define CROSSOVER_CORE_DEVICE_SPAN_H_

#include <cstddef>
#include <span>

#include "core/check.h"

namespace crossover {

enum class Device { kHost };

struct DeviceSpan {
  float* data = nullptr;
  size_t length = 0;  // values, not bytes
  Device device = Device::kHost;

  // The values, for code that runs on the host. CHECK-fails elsewhere.
  std::span<float> host() const {
    CROSSOVER_CHECK(device == Device::kHost, "the buffer is not in host memory");
    return {data, length};
  }
};

}  // namespace crossover

#endif  // CROSSOVER_CORE_DEVICE_SPAN_H_
