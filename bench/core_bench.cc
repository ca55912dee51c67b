// Micro-benchmarks of the pure pieces that lie on the path of every gradient. Each
// verifies the result of the code that it times, once, in the same run, and reports
// an error in place of a time if it is wrong. bytes/s are of one buffer's fp32 values,
// not of memory traffic; items/s are of spans (ReduceStep) and parts (MakeShardPlan).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "core/bucket_plan.h"
#include "core/combine.h"
#include "core/data_type.h"
#include "core/flat_layout.h"
#include "core/half.h"
#include "core/optimizer.h"
#include "core/reduce.h"
#include "core/shard_plan.h"
#include "core/timeline.h"
#include "proto/job.pb.h"

namespace crossover {
namespace {

// Small enough for the first cache, a travelling part, and more than most caches.
constexpr int64_t kLengths[] = {1 << 10, 1 << 14, 1 << 22};

void EachLength(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t length : kLengths) benchmark->Arg(length);
}

// Values in (-1, 1) of many magnitudes, the same in every run.
std::vector<float> Values(int64_t length, int seed) {
  std::vector<float> values(length);
  for (int64_t i = 0; i < length; ++i) {
    values[i] = static_cast<float>(std::sin(static_cast<double>(i * 7 + seed)));
  }
  return values;
}

void CountValues(benchmark::State& state, int64_t values) {
  state.SetBytesProcessed(state.iterations() * values * static_cast<int64_t>(sizeof(float)));
}

// Whether each element of `actual` has the bits of expected(i).
template <typename Expected>
bool Matches(std::span<const float> actual, Expected expected) {
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::bit_cast<uint32_t>(actual[i]) != std::bit_cast<uint32_t>(expected(i))) return false;
  }
  return true;
}

void BM_AddInto(benchmark::State& state) {
  const std::vector<float> from = Values(state.range(0), 1);
  const std::vector<float> before = Values(state.range(0), 2);
  std::vector<float> into = before;
  AddInto(into, from);
  if (!Matches(into, [&](size_t i) { return before[i] + from[i]; })) {
    return state.SkipWithError("AddInto gave a wrong sum");
  }
  for (auto _ : state) {
    AddInto(into, from);
    benchmark::ClobberMemory();
  }
  CountValues(state, state.range(0));
}
BENCHMARK(BM_AddInto)->Apply(EachLength);

void AddBytes(benchmark::State& state, size_t shift) {
  const std::vector<float> from = Values(state.range(0), 1);
  const std::vector<float> before = Values(state.range(0), 2);
  std::vector<std::byte> buffer(from.size() * sizeof(float) + shift);
  const std::span<std::byte> bytes = std::span(buffer).subspan(shift);
  std::memcpy(bytes.data(), from.data(), bytes.size());
  std::vector<float> into = before;
  AddBytesInto(into, bytes);
  if (!Matches(into, [&](size_t i) { return before[i] + from[i]; })) {
    return state.SkipWithError("AddBytesInto gave a wrong sum");
  }
  for (auto _ : state) {
    AddBytesInto(into, bytes);
    benchmark::ClobberMemory();
  }
  CountValues(state, state.range(0));
}
void BM_AddBytesIntoAligned(benchmark::State& state) { AddBytes(state, 0); }
void BM_AddBytesIntoOffByOne(benchmark::State& state) { AddBytes(state, 1); }
BENCHMARK(BM_AddBytesIntoAligned)->Apply(EachLength);
BENCHMARK(BM_AddBytesIntoOffByOne)->Apply(EachLength);

// Small whole numbers, which every type holds exactly, as do their sums.
std::vector<std::byte> WholeNumbers(DataType type, int64_t length, int seed) {
  std::vector<float> floats(length);
  for (int64_t i = 0; i < length; ++i) floats[i] = static_cast<float>((i * 7 + seed) % 13);
  std::vector<std::byte> bytes(length * BytesOf(type));
  auto convert = [&](auto zero) {
    for (int64_t i = 0; i < length; ++i) {
      const auto value = static_cast<decltype(zero)>(floats[i]);
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
  };
  switch (type) {
    case DataType::kFloat32:
      convert(0.0f);
      break;
    case DataType::kFloat16:
      FloatsToFloat16s(floats.data(), bytes.data(), length);
      break;
    case DataType::kBfloat16:
      FloatsToBfloat16s(floats.data(), bytes.data(), length);
      break;
    case DataType::kFloat64:
      convert(0.0);
      break;
    case DataType::kInt32:
      convert(int32_t{0});
      break;
    case DataType::kInt64:
      convert(int64_t{0});
      break;
  }
  return bytes;
}

// bytes/s of one buffer in its own type.
void RunCombine(benchmark::State& state, DataType type, ReduceOp op) {
  const int64_t length = state.range(0);
  const std::vector<std::byte> from = WholeNumbers(type, length, 0);
  std::vector<std::byte> into = WholeNumbers(type, length, 0);
  Combine(type, ReduceOp::kSum, into.data(), from.data(), length);
  FinishAverage(type, into.data(), length, 2);
  if (into != from) return state.SkipWithError("half of twice a value is another");
  Combine(type, op, into.data(), from.data(), length);
  if (op == ReduceOp::kMin && into != from) return state.SkipWithError("a wrong minimum");
  for (auto _ : state) {
    Combine(type, op, into.data(), from.data(), length);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(from.size()));
}
BENCHMARK_CAPTURE(RunCombine, sum_fp32, DataType::kFloat32, ReduceOp::kSum)->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombine, sum_fp16, DataType::kFloat16, ReduceOp::kSum)->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombine, sum_bf16, DataType::kBfloat16, ReduceOp::kSum)->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombine, sum_fp64, DataType::kFloat64, ReduceOp::kSum)->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombine, sum_int32, DataType::kInt32, ReduceOp::kSum)->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombine, sum_int64, DataType::kInt64, ReduceOp::kSum)->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombine, min_fp32, DataType::kFloat32, ReduceOp::kMin)->Apply(EachLength);

// Four parts into four buffers, as ranks of one host do with their shared ones; bytes/s of one.
void RunCombineIntoAll(benchmark::State& state, DataType type, Stores stores) {
  const int64_t length = state.range(0);
  std::vector<std::vector<std::byte>> buffers;
  std::vector<const std::byte*> parts;
  std::vector<std::byte*> into;
  for (int k = 0; k < 4; ++k) buffers.push_back(WholeNumbers(type, length, 0));
  for (std::vector<std::byte>& buffer : buffers) {
    parts.push_back(buffer.data());
    into.push_back(buffer.data());
  }
  const std::vector<std::byte> expected = buffers[0];  // the mean of equals
  for (auto _ : state) {
    CombineInOrderIntoAll(type, ReduceOp::kAverage, into, parts, length, stores);
    benchmark::ClobberMemory();
  }
  for (const std::vector<std::byte>& buffer : buffers) {
    if (buffer != expected) return state.SkipWithError("the mean of equal values is another");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(expected.size()));
}
BENCHMARK_CAPTURE(RunCombineIntoAll, fp32_cached, DataType::kFloat32, Stores::kCached)
    ->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombineIntoAll, fp32_stream, DataType::kFloat32, Stores::kStream)
    ->Apply(EachLength);
BENCHMARK_CAPTURE(RunCombineIntoAll, bf16_cached, DataType::kBfloat16, Stores::kCached)
    ->Apply(EachLength);

void BM_DivideBy(benchmark::State& state) {
  const std::vector<float> before = Values(state.range(0), 1);
  std::vector<float> values = before;
  DivideBy(values, 3);
  if (!Matches(values, [&](size_t i) { return before[i] / 3; })) {
    return state.SkipWithError("DivideBy gave a wrong quotient");
  }
  int divided = 0;
  for (auto _ : state) {
    DivideBy(values, 3);
    // Now and then anew, so that values stay normal.
    if (++divided % 32 == 0) std::copy(before.begin(), before.end(), values.begin());
    benchmark::ClobberMemory();
  }
  CountValues(state, state.range(0));
}
BENCHMARK(BM_DivideBy)->Apply(EachLength);

// The first update of a parameter p with gradient g (momentum 0.9, state zero), in
// double.
double FirstUpdate(proto::OptimizerKind::Name name, double p, double g, double learning_rate) {
  switch (name) {
    case proto::OptimizerKind::sgd:
    case proto::OptimizerKind::momentum:
      return p - learning_rate * g;
    case proto::OptimizerKind::nesterov:
      return p - learning_rate * 1.9 * g;
    case proto::OptimizerKind::adam:
      return p - learning_rate * g / (std::abs(g) + 1e-8);
  }
  return p;
}

void RunOptimizer(benchmark::State& state, proto::OptimizerKind::Name name) {
  constexpr double kLearningRate = 0.1;
  const int64_t length = state.range(0);
  const std::vector<float> gradient = Values(length, 1);
  const std::vector<float> before = Values(length, 2);
  std::vector<float> parameters = before;
  proto::Optimizer config;
  config.set_name(name);
  Optimizer optimizer(config, length);
  optimizer.Apply(0, parameters, gradient, kLearningRate, 0);
  for (int64_t i = 0; i < length; ++i) {
    const double expected = FirstUpdate(name, before[i], gradient[i], kLearningRate);
    if (std::abs(parameters[i] - expected) > 1e-6) {
      return state.SkipWithError("the optimizer's first update is wrong");
    }
  }
  int64_t update = 1;
  for (auto _ : state) {
    // So slow that parameters stay where they are.
    optimizer.Apply(0, parameters, gradient, 1e-9, update++);
    benchmark::ClobberMemory();
  }
  CountValues(state, length);
}
BENCHMARK_CAPTURE(RunOptimizer, sgd, proto::OptimizerKind::sgd)->Apply(EachLength);
BENCHMARK_CAPTURE(RunOptimizer, momentum, proto::OptimizerKind::momentum)->Apply(EachLength);
BENCHMARK_CAPTURE(RunOptimizer, nesterov, proto::OptimizerKind::nesterov)->Apply(EachLength);
BENCHMARK_CAPTURE(RunOptimizer, adam, proto::OptimizerKind::adam)->Apply(EachLength);

void BM_Fingerprint(benchmark::State& state) {
  const std::vector<float> values = Values(state.range(0), 1);
  uint64_t expected = 0xcbf29ce484222325;
  for (const float value : values) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      expected = (expected ^ ((bits >> shift) & 0xff)) * 0x100000001b3;
    }
  }
  if (Fingerprint(values) != expected) return state.SkipWithError("Fingerprint is not FNV-1a");
  for (auto _ : state) benchmark::DoNotOptimize(Fingerprint(values));
  CountValues(state, state.range(0));
}
BENCHMARK(BM_Fingerprint)->Apply(EachLength);

void BM_SumOfSquares(benchmark::State& state) {
  const std::vector<float> values = Values(state.range(0), 1);
  long double expected = 0;
  for (const float value : values) expected += static_cast<long double>(value) * value;
  if (std::abs(SumOfSquares(values) / static_cast<double>(expected) - 1) > 1e-12) {
    return state.SkipWithError("SumOfSquares gave a wrong sum");
  }
  for (auto _ : state) benchmark::DoNotOptimize(SumOfSquares(values));
  CountValues(state, state.range(0));
}
BENCHMARK(BM_SumOfSquares)->Apply(EachLength);

// A step of 100 ns per operation, in which computing, pushes and pulls overlap.
void BM_ReduceStep(benchmark::State& state) {
  const int64_t ops = state.range(0);
  const Interval step = {0, 100 * ops};
  std::vector<TimeSpan> spans;
  for (int op = 0; op < static_cast<int>(ops); ++op) {
    const int64_t start_ns = int64_t{100} * op;
    spans.push_back({SpanKind::kCompute, -1, {start_ns, start_ns + 90}});
    spans.push_back({SpanKind::kPush, op, {start_ns + 20, start_ns + 60}});
    spans.push_back({SpanKind::kPull, op, {start_ns + 50, start_ns + 95}});
  }
  const StepRecord record = ReduceStep(0, step, spans);
  if (record.compute_ns != 90 * ops || record.communication_ns != 75 * ops ||
      record.hidden_ns != 70 * ops || record.covered_ns != 95 * ops ||
      static_cast<int64_t>(record.ops.size()) != ops) {
    return state.SkipWithError("ReduceStep gave wrong times");
  }
  for (auto _ : state) benchmark::DoNotOptimize(ReduceStep(0, step, spans));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(spans.size()));
}
BENCHMARK(BM_ReduceStep)->Arg(4)->Arg(64)->Arg(1024);

void BM_MakeShardPlan(benchmark::State& state) {
  constexpr int kServers = 4;
  constexpr int64_t kPartBytes = 65536;
  FlatLayout layout;
  for (int i = 0; i < 60; ++i) AppendParameter(layout, std::to_string(i), {state.range(0)});
  const BucketPlan buckets = MakeBucketPlan(layout, 1 << 20, 25 << 20);
  const ShardPlan plan = MakeShardPlan(buckets, kServers, kPartBytes);
  int64_t end = 0;
  bool bounded = true;
  for (const Part& part : plan.parts) {
    bounded &= part.offset == end && part.length * 4 <= kPartBytes;
    end += part.length;
  }
  if (!bounded || end != layout.length || Imbalance(plan) > 1.001) {
    return state.SkipWithError("MakeShardPlan left a gap, a long part or an imbalance");
  }
  for (auto _ : state) benchmark::DoNotOptimize(MakeShardPlan(buckets, kServers, kPartBytes));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(plan.parts.size()));
}
// Parameters of so many values: about LeNet's size, ResNet-18's, GPT-2's (0.78 billion).
BENCHMARK(BM_MakeShardPlan)->Arg(1 << 10)->Arg(190'000)->Arg(13'000'000);

}  // namespace
}  // namespace crossover
