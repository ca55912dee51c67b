// Times Gloo's AllReduce over TCP, one process a rank, for bench/comm_test. Built by
// bench/peers/build where libgloo-dev is installed.
//
//   gloo_all_reduce --rank=R --ranks=N --store=DIR --address=IP --algorithms=ring,ring_chunked
//       --sizes=4096,1048576 --budget_s=0.5 --warmup=2 --iterations=0 --in_place=in
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <memory>

#include "bench/peers/peer_loop.h"

namespace crossover::bench {
namespace {

using Context = std::shared_ptr<gloo::Context>;
using Reduction = void (*)(void*, const void*, const void*, size_t);

void AllReduceDoubles(const Context& context, std::vector<double>& values, Reduction reduction) {
  gloo::AllreduceOptions options(context);
  options.setOutput(values.data(), values.size());
  options.setReduceFunction(reduction);
  options.setTag(2);
  gloo::allreduce(options);
}

// Gloo's newer interface: ring and bcube, in place or not.
void AllReduceFloats(const Context& context, gloo::AllreduceOptions::Algorithm algorithm,
                     float* input, float* output, int64_t count) {
  gloo::AllreduceOptions options(context);
  if (input != output) options.setInput(input, count);
  options.setOutput(output, count);
  options.setAlgorithm(algorithm);
  options.setReduceFunction(static_cast<Reduction>(&gloo::sum<float>));
  options.setTag(1);
  gloo::allreduce(options);
}

// Gloo's older interface: an object for one buffer, in place, kept as long as the buffer is.
template <template <typename...> class Algorithm>
class OlderAllReduce {
 public:
  explicit OlderAllReduce(Context context) : context_(std::move(context)) {}
  void operator()(float* input, float* output, int64_t count) {
    if (input != output) std::memcpy(output, input, count * sizeof(float));
    if (output != output_ || count != count_) {
      algorithm_ = std::make_shared<Algorithm<float>>(context_, std::vector<float*>{output},
                                                      static_cast<int>(count));
      output_ = output;
      count_ = count;
    }
    algorithm_->run();
  }

 private:
  Context context_;
  std::shared_ptr<gloo::Algorithm> algorithm_;
  float* output_ = nullptr;
  int64_t count_ = -1;
};

std::function<void(float*, float*, int64_t)> AllReduceNamed(const std::string& name,
                                                            const Context& context) {
  using Algorithm = gloo::AllreduceOptions::Algorithm;
  const auto newer = [context](Algorithm algorithm) {
    return [context, algorithm](float* input, float* output, int64_t count) {
      AllReduceFloats(context, algorithm, input, output, count);
    };
  };
  if (name == "ring") return newer(Algorithm::RING);
  if (name == "bcube") return newer(Algorithm::BCUBE);
  if (name == "ring_chunked") return OlderAllReduce<gloo::AllreduceRingChunked>(context);
  if (name == "halving_doubling") return OlderAllReduce<gloo::AllreduceHalvingDoubling>(context);
  std::fprintf(stderr, "--algorithms: no %s\n", name.c_str());
  std::exit(2);
}

int Main(int argc, char** argv) {
  std::map<std::string, std::string> flags = PeerFlags(argc, argv);
  const int rank = std::atoi(flags["rank"].c_str());
  const int ranks = std::atoi(flags["ranks"].c_str());
  gloo::transport::tcp::attr attributes;
  attributes.hostname = flags["address"];
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(flags["store"]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->setTimeout(std::chrono::seconds(60));
  context->connectFullMesh(store, device);
  const PeerPlan plan = PlanOf(flags);
  for (const std::string& name : SplitAtCommas(flags["algorithms"])) {
    Peer peer;
    peer.library = "gloo";
    peer.transport = "tcp";
    peer.algorithm = name;
    peer.rank = rank;
    peer.ranks = ranks;
    peer.all_reduce = AllReduceNamed(name, context);
    peer.barrier = [&context] {
      gloo::BarrierOptions options(context);
      options.setTag(3);
      gloo::barrier(options);
    };
    peer.max = [&context](std::vector<double>& values) {
      AllReduceDoubles(context, values, &gloo::max<double>);
    };
    peer.sum = [&context](std::vector<double>& values) {
      AllReduceDoubles(context, values, &gloo::sum<double>);
    };
    PeerLoop(peer, plan).Run();
  }
  return 0;
}

}  // namespace
}  // namespace crossover::bench

int main(int argc, char** argv) {
  try {
    return crossover::bench::Main(argc, argv);
  } catch (const std::exception& error) {  // Gloo throws
    std::fprintf(stderr, "gloo_all_reduce: %s\n", error.what());
    return 1;
  }
}
