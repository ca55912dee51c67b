// What a small collective costs beside the system calls that carry it: the check that is made of
// every message, and all of the engine's work, with N ranks in one thread over queues in memory.
// Each benchmark verifies what it times in the same run.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "allreduce/communicator.h"
#include "allreduce/flight.h"
#include "allreduce/frame.h"
#include "benchmark/benchmark.h"
#include "core/clock.h"
#include "net/inproc_endpoint.h"

namespace crossover::allreduce {
namespace {

constexpr int64_t kValues = 1 << 10;  // 4 KiB of fp32

Operation SmallAllReduce() {
  Operation operation;
  operation.frame.kind = Kind::kAllReduce;
  operation.frame.algorithm = Algorithm::kRecursiveDoubling;
  operation.frame.job = 0x123456789abcdef;
  operation.frame.sequence = 41;
  operation.frame.count = kValues;
  operation.frame.name = "comm_test";
  operation.schedule = std::make_shared<const Schedule>();
  return operation;
}

// Of one message: the sender's frame into its staging, the receiver's expectation, and the
// comparison.
void BM_FrameOfAMessage(benchmark::State& state) {
  const Flight flight(SmallAllReduce());
  std::vector<std::byte> staged(kFrameBytes);
  size_t step = 0;
  bool right = true;
  for (auto _ : state) {
    const FrameBytes sent = flight.FrameOf(1, step, kValues * 4);
    std::memcpy(staged.data(), sent.data(), kFrameBytes);
    benchmark::DoNotOptimize(staged.data());
    benchmark::ClobberMemory();
    const FrameBytes expected = flight.FrameOf(1, step, kValues * 4);
    right &= std::memcmp(staged.data(), expected.data(), kFrameBytes) == 0;
    benchmark::DoNotOptimize(right);
    step = (step + 1) % 2;
  }
  const FrameBytes other = flight.FrameOf(2, step, kValues * 4);
  if (!right || std::memcmp(staged.data(), other.data(), kFrameBytes) == 0) {
    state.SkipWithError("a frame was not told from another");
  }
}
BENCHMARK(BM_FrameOfAMessage);

// Once for a rank and collective, for all of its messages.
void BM_FrameOfACollective(benchmark::State& state) {
  Frame frame = SmallAllReduce().frame;
  for (auto _ : state) {
    ++frame.sequence;
    benchmark::DoNotOptimize(EncodeFrame(frame));
  }
  const absl::StatusOr<Frame> decoded = DecodeFrame(EncodeFrame(frame));
  if (!decoded.ok() || decoded->sequence != frame.sequence) state.SkipWithError("a wrong frame");
}
BENCHMARK(BM_FrameOfACollective);

// An AllReduce of 4 KiB on state.range(0) ranks, of whose work one thread does all.
void BM_AllReduce(benchmark::State& state, Algorithm algorithm) {
  const int ranks = static_cast<int>(state.range(0));
  const SystemClock clock;
  const std::vector<std::unique_ptr<net::Endpoint>> endpoints =
      net::MakeInprocEndpoints(ranks, clock);
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::vector<float>> buffers(ranks, std::vector<float>(kValues, 1));
  for (const auto& endpoint : endpoints) {
    communicators.push_back(
        std::make_unique<Communicator>(*endpoint, Communicator::Options{}, clock));
  }
  const auto run = [&] {
    int64_t number = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      number = *communicators[rank]->Start({.count = kValues,
                                            .input = buffers[rank].data(),
                                            .output = buffers[rank].data(),
                                            .name = "comm_test",
                                            .algorithm = algorithm});
    }
    for (bool done = false; !done;) {
      done = true;
      for (const auto& communicator : communicators) {
        if (!communicator->Progress().ok()) return false;
        done &= communicator->IsDone(number);
      }
    }
    return true;
  };
  if (!run() || buffers[0][0] != static_cast<float>(ranks) || buffers[0] != buffers[ranks - 1]) {
    return state.SkipWithError("a wrong sum");
  }
  for (std::vector<float>& buffer : buffers) buffer.assign(kValues, 0);
  for (auto _ : state) {
    if (!run()) return state.SkipWithError("a collective failed");
  }
  state.counters["of_a_rank"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * ranks,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(BM_AllReduce, recursive_doubling, Algorithm::kRecursiveDoubling)->Arg(2)->Arg(4);
BENCHMARK_CAPTURE(BM_AllReduce, exchange, Algorithm::kExchange)->Arg(2)->Arg(4);

}  // namespace
}  // namespace crossover::allreduce
