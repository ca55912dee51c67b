// What the programs that time other libraries share: the same values, repetitions and lines as
// comm_test's own ranks (bench/comm/sweep.h), without our libraries, so that they build wherever
// the peer's package is. AllReduce of fp32 sums. For one thread.
#ifndef CROSSOVER_BENCH_PEERS_PEER_LOOP_H_
#define CROSSOVER_BENCH_PEERS_PEER_LOOP_H_

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace crossover::bench {

// A peer's collectives, as the loop needs them. Each blocks.
struct Peer {
  std::string library;
  std::string transport;
  std::string algorithm;
  int rank = 0;
  int ranks = 1;
  // Sums `count` floats over all ranks: from `input` into `output`, which are one in place.
  std::function<void(float* input, float* output, int64_t count)> all_reduce;
  std::function<void()> barrier;
  std::function<void(std::vector<double>& values)> max;  // elementwise over the ranks
  std::function<void(std::vector<double>& values)> sum;
};

struct PeerPlan {
  std::vector<int64_t> sizes;  // bytes
  double budget_s = 0.5;
  int64_t warmup = 2;
  int64_t iterations = 0;
  bool in_place = true;
};

// --name=value of the command line.
inline std::map<std::string, std::string> PeerFlags(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (word.rfind("--", 0) != 0 || equals == std::string::npos) {
      std::fprintf(stderr, "%s: not of the form --name=value\n", argv[i]);
      std::exit(2);
    }
    flags[word.substr(2, equals - 2)] = word.substr(equals + 1);
  }
  return flags;
}

inline std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

inline PeerPlan PlanOf(std::map<std::string, std::string>& flags) {
  PeerPlan plan;
  for (const std::string& size : SplitAtCommas(flags["sizes"])) {
    plan.sizes.push_back(std::atoll(size.c_str()));
  }
  plan.budget_s = std::atof(flags["budget_s"].c_str());
  plan.warmup = std::atoll(flags["warmup"].c_str());
  plan.iterations = std::atoll(flags["iterations"].c_str());
  plan.in_place = flags["in_place"] != "out";
  return plan;
}

class PeerLoop {
 public:
  PeerLoop(const Peer& peer, const PeerPlan& plan) : peer_(peer), plan_(plan) {}

  void Run() {
    for (const int64_t bytes : plan_.sizes) Measure(bytes);
  }

 private:
  static double NowS() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }
  static double CpuS() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  static double Median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  }

  void Call() { peer_.all_reduce(input(), output_.data(), count()); }
  float* input() { return plan_.in_place ? output_.data() : input_.data(); }
  int64_t count() const { return static_cast<int64_t>(output_.size()); }

  // A call on small whole numbers, whose sums are exact in any order.
  int64_t CountWrong(int64_t fill) {
    const auto base = [fill](int64_t i) { return (i * 7 + fill) % 251; };
    if (!plan_.in_place) std::fill(output_.begin(), output_.end(), -1.0f);
    for (int64_t i = 0; i < count(); ++i) input()[i] = static_cast<float>(base(i) + peer_.rank);
    Call();
    const int64_t ranks = peer_.ranks;
    int64_t wrong = 0;
    for (int64_t i = 0; i < count(); ++i) {
      wrong += output_[i] != static_cast<float>(base(i) * ranks + ranks * (ranks - 1) / 2);
    }
    return wrong;
  }

  double MaxOverRanks(double value) {
    std::vector<double> values = {value};
    peer_.max(values);
    return values[0];
  }

  void Measure(int64_t bytes) {
    output_.assign(bytes / static_cast<int64_t>(sizeof(float)), 0);
    input_.assign(plan_.in_place ? 0 : output_.size(), 0);
    int64_t wrong = CountWrong(1);
    // Sums in place would grow from call to call; of zeros they stay.
    if (plan_.in_place) std::fill(output_.begin(), output_.end(), 0.0f);
    peer_.barrier();
    Call();
    const double warm_s = NowS();
    for (int64_t i = 0; i < plan_.warmup; ++i) Call();
    const double call_s = std::max(1e-7, MaxOverRanks((NowS() - warm_s) / plan_.warmup));
    const int64_t batch = std::clamp<int64_t>(std::ceil(0.02 / call_s), 1, 20'000);
    const double fit = std::min(1e6, plan_.budget_s / (call_s * batch));
    const int64_t times = plan_.iterations > 0 ? plan_.iterations
                                               : std::clamp<int64_t>(fit, call_s > 0.3 ? 3 : 5, 40);
    std::vector<double> times_us;
    const double cpu_before_s = CpuS();
    for (int64_t i = 0; i < times; ++i) {
      peer_.barrier();
      const double start_s = NowS();
      for (int64_t j = 0; j < batch; ++j) Call();
      times_us.push_back((NowS() - start_s) * 1e6 / batch);
    }
    const double cpu_us = (CpuS() - cpu_before_s) * 1e6 / (times * batch);
    wrong += CountWrong(2);
    Print(bytes, times_us, cpu_us, wrong);
  }

  void Print(int64_t bytes, std::vector<double> times_us, double cpu_us, int64_t wrong) {
    peer_.max(times_us);
    std::vector<double> totals = {cpu_us, static_cast<double>(wrong)};
    peer_.sum(totals);
    if (peer_.rank != 0) return;
    const double time_us = Median(times_us);
    const double algbw = bytes / time_us * 1e-3;
    std::printf(
        "{\"library\":\"%s\",\"transport\":\"%s\",\"algorithm\":\"%s\",\"op\":\"all_reduce\","
        "\"type\":\"fp32\",\"reduce\":\"sum\",\"in_place\":%s,\"ranks\":%d,\"bytes\":%lld,"
        "\"time_us\":%.4f,\"time_us_min\":%.4f,\"time_us_max\":%.4f,\"algbw_GBps\":%.6f,"
        "\"busbw_GBps\":%.6f,\"cpu_us\":%.3f,\"wrong\":%lld}\n",
        peer_.library.c_str(), peer_.transport.c_str(), peer_.algorithm.c_str(),
        plan_.in_place ? "true" : "false", peer_.ranks, static_cast<long long>(bytes), time_us,
        *std::min_element(times_us.begin(), times_us.end()),
        *std::max_element(times_us.begin(), times_us.end()), algbw,
        algbw * 2 * (peer_.ranks - 1) / peer_.ranks, totals[0], static_cast<long long>(totals[1]));
    std::fflush(stdout);
  }

  const Peer& peer_;
  const PeerPlan& plan_;
  std::vector<float> input_;  // empty in place
  std::vector<float> output_;
};

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_PEERS_PEER_LOOP_H_
