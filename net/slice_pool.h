// Buffers for large slices of outgoing gRPC messages, used again and again: fresh ones cost a page
// fault every 4 KiB, since glibc gives freed memory of that size back to the kernel. Thread-safe.
#ifndef CROSSOVER_NET_SLICE_POOL_H_
#define CROSSOVER_NET_SLICE_POOL_H_

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace crossover::net {

class SlicePool : public std::enable_shared_from_this<SlicePool> {
 public:
  // Of so many bytes each; at most `kept_max` are kept while unused.
  static std::shared_ptr<SlicePool> Make(size_t buffer_bytes, size_t kept_max);

  // A copy of at most buffer_bytes (CHECK). The slice may outlive everybody else's pointers to
  // the pool: when gRPC lets go of it is gRPC's business.
  grpc::Slice Copy(std::span<const std::byte> bytes);

 private:
  using Buffer = std::unique_ptr<std::byte[]>;
  struct Loan {
    std::shared_ptr<SlicePool> pool;
    Buffer buffer;
  };
  SlicePool(size_t buffer_bytes, size_t kept_max)
      : buffer_bytes_(buffer_bytes), kept_max_(kept_max) {}
  Buffer Take();
  // From any thread of gRPC's, whatever locks it holds.
  static void Return(void* loan);

  const size_t buffer_bytes_;
  const size_t kept_max_;
  std::mutex mutex_;  // a leaf: nothing is called with it held
  std::vector<Buffer> kept_;
};

}  // namespace crossover::net

#endif  // CROSSOVER_NET_SLICE_POOL_H_
