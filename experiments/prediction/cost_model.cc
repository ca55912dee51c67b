#include "experiments/prediction/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

constexpr double kMsPerS = 1e3;

std::string Ms(double seconds) { return absl::StrCat(FormatNumber(seconds * kMsPerS), " ms"); }
std::string Rate(double bytes_per_s) { return absl::StrCat(FormatBytes(bytes_per_s), "/s"); }

double AllBytes(const CostInputs& inputs) {
  double bytes = 0;
  for (const BucketCost& bucket : inputs.buckets) bytes += bucket.bytes;
  return bytes;
}

double Slower(double send_bytes_per_s, double receive_bytes_per_s) {
  return std::min(send_bytes_per_s, receive_bytes_per_s);
}
double WorkerRate(const LinkSpeed& link) {
  return Slower(link.worker_send_bytes_per_s, link.worker_receive_bytes_per_s);
}
double ServerRate(const LinkSpeed& link) {
  return Slower(link.server_send_bytes_per_s, link.server_receive_bytes_per_s);
}

// A collective's messages one after the other, and how many times a bucket's bytes the busiest
// worker sends and combines.
struct CollectiveForm {
  double messages = 0;
  double bytes = 0;
  double combined = 0;
  const char* name = "";
  const char* text = "";
};

CollectiveForm FormOf(Exchange exchange, int workers) {
  const auto size = static_cast<unsigned>(workers);
  const double n = workers;
  const double p = std::bit_width(size) - 1;
  const double power = std::bit_floor(size);
  const double extra = n > power ? 1 : 0;
  const double d = std::bit_width(size - 1);
  switch (exchange) {
    case Exchange::kRing:
      return {2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n, "ring",
              "2(N-1) alpha + 2(N-1)/N m/B + (N-1)/N m gamma"};
    case Exchange::kDirect:
      return {2, 2 * (n - 1) / n, (n - 1) / n, "direct",
              "2 alpha + 2(N-1)/N m/B + (N-1)/N m gamma"};
    case Exchange::kHalvingDoubling:
      return {2 * p + 2 * extra, 2 * (power - 1) / power + extra, (power - 1) / power + extra,
              "halving_doubling",
              "2p alpha + 2(P-1)/P m/B + (P-1)/P m gamma, P = 2^p <= N, 2 alpha + m/B + m gamma "
              "more where N > P"};
    case Exchange::kRecursiveDoubling:
      return {p + 2 * extra, p + extra, p + extra, "recursive_doubling",
              "p (alpha + m/B + m gamma), P = 2^p <= N, 2 alpha + m/B + m gamma more where N > P"};
    case Exchange::kTree:
      return {2 * d, d, d, "tree", "2d alpha + d m/B + d m gamma, d = ceil(log2 N)"};
    case Exchange::kOneStep:
      return {1, n - 1, n - 1, "exchange", "alpha + (N-1) m/B + (N-1) m gamma"};
    case Exchange::kNone:
    case Exchange::kServers:
      break;
  }
  return {};
}

Exchange ExchangeOf(const CostInputs& inputs, const BucketCost& bucket) {
  return bucket.exchange != Exchange::kNone ? bucket.exchange : inputs.exchange;
}

double CollectiveTime(const CostInputs& inputs, Exchange exchange, double bytes) {
  const CollectiveForm form = FormOf(exchange, inputs.workers);
  return form.messages * inputs.link.latency_s + form.bytes * bytes / WorkerRate(inputs.link) +
         form.combined * bytes * inputs.reduce_s_per_byte;
}

// Of the node that sends most. A server's own worker reaches it without the network.
double ColocatedTime(const CostInputs& inputs, double bytes, int contributors) {
  const double s = inputs.servers, n = contributors;
  const double on_node = std::ceil(s / inputs.workers);
  const double with_servers = (1 - on_node / s) + on_node * (n - 1) / s;
  const bool every_node = inputs.servers % inputs.workers == 0;
  const double without = every_node ? 0 : 1 - std::floor(s / inputs.workers) / s;
  return std::max(with_servers, without) * bytes / WorkerRate(inputs.link);
}

// One way through dedicated or colocated servers, where `contributors` push at once.
double PhaseTime(const CostInputs& inputs, double bytes, int contributors) {
  const double n = contributors, s = inputs.servers;
  const double network_s = inputs.colocated ? ColocatedTime(inputs, bytes, contributors)
                                            : std::max(bytes / WorkerRate(inputs.link),
                                                       n * bytes / (s * ServerRate(inputs.link)));
  return std::max(network_s, n * bytes / (s * inputs.apply_bytes_per_s));
}

// The way of a step's last part through a server, after its bytes have come.
double LastPartTime(const CostInputs& inputs, int contributors) {
  if (inputs.exchange != Exchange::kServers || inputs.buckets.empty()) return 0;
  const double share = inputs.buckets.back().bytes / inputs.servers;
  const double rate = inputs.colocated ? WorkerRate(inputs.link) : ServerRate(inputs.link);
  return 2 * inputs.link.latency_s + contributors * std::min(inputs.part_bytes, share) / rate;
}

double BucketTime(const CostInputs& inputs, const BucketCost& bucket, int contributors) {
  const Exchange exchange = ExchangeOf(inputs, bucket);
  if (exchange == Exchange::kNone) return 0;
  if (exchange != Exchange::kServers) return CollectiveTime(inputs, exchange, bucket.bytes);
  return (inputs.pipelined ? 1 : 2) * PhaseTime(inputs, bucket.bytes, contributors);
}

// When the last bucket has been exchanged, since the start of compute.
double LastEnd(const CostInputs& inputs, double slowdown, int contributors) {
  double end_s = 0;
  for (const BucketCost& bucket : inputs.buckets) {
    const double in_turn_s = slowdown * bucket.ready_s;
    const bool at_end = slowdown > 1 && !inputs.slowest_in_turn;
    const double ready_s = at_end ? slowdown * inputs.compute_s : in_turn_s;
    end_s = std::max(end_s, ready_s) + BucketTime(inputs, bucket, contributors);
  }
  return end_s + LastPartTime(inputs, contributors);
}

double Latency(const CostInputs& inputs) {
  if (inputs.exchange == Exchange::kServers) return 2 * inputs.link.latency_s;
  double messages = 0;
  for (const BucketCost& bucket : inputs.buckets) {
    messages += FormOf(ExchangeOf(inputs, bucket), inputs.workers).messages;
  }
  return messages * inputs.link.latency_s;
}

double ExchangeOfAll(const CostInputs& inputs) {
  double total_s = LastPartTime(inputs, inputs.workers);
  for (const BucketCost& bucket : inputs.buckets) {
    total_s += BucketTime(inputs, bucket, inputs.workers);
  }
  return total_s;
}

// The formulas of all algorithms that buckets go by.
std::string DescribeCollective(const CostInputs& inputs) {
  std::vector<Exchange> seen;
  for (const BucketCost& bucket : inputs.buckets) {
    const Exchange exchange = ExchangeOf(inputs, bucket);
    if (std::find(seen.begin(), seen.end(), exchange) == seen.end()) seen.push_back(exchange);
  }
  std::string text;
  for (const Exchange exchange : seen) {
    const CollectiveForm form = FormOf(exchange, inputs.workers);
    absl::StrAppend(&text, text.empty() ? "T = " : "; T = ", form.text,
                    seen.size() > 1 ? absl::StrCat(" of buckets by ", form.name) : "");
  }
  return text;
}

std::string DescribeServers(const CostInputs& inputs) {
  return inputs.colocated ? "T = m((1-k/S) + k(N-1)/S)/B on the most loaded node"
                          : "T = max(m/Bw, N m/(S Bs), N m/(S r))";
}

std::string DescribeExchange(const CostInputs& inputs) {
  if (inputs.exchange == Exchange::kNone) return "nothing is exchanged";
  const bool servers = inputs.exchange == Exchange::kServers;
  const std::string worker_rate = Rate(WorkerRate(inputs.link));
  std::string text = absl::StrCat(servers ? DescribeServers(inputs) : DescribeCollective(inputs),
                                  "; N = ", inputs.workers);
  if (servers) absl::StrAppend(&text, ", S = ", inputs.servers);
  if (servers && inputs.colocated) {
    absl::StrAppend(&text, ", k = ", (inputs.servers + inputs.workers - 1) / inputs.workers);
  }
  if (servers && !inputs.colocated) {
    absl::StrAppend(&text, ", Bw ", worker_rate, ", Bs ", Rate(ServerRate(inputs.link)));
  } else {
    absl::StrAppend(&text, ", B ", worker_rate);
  }
  if (servers && std::isfinite(inputs.apply_bytes_per_s)) {
    absl::StrAppend(&text, ", r ", Rate(inputs.apply_bytes_per_s));
  }
  absl::StrAppend(&text, ", alpha ", Ms(inputs.link.latency_s));
  if (servers && !inputs.pipelined) absl::StrAppend(&text, ", the pull after the push");
  if (!servers) {
    absl::StrAppend(
        &text,
        inputs.reduce_s_per_byte > 0
            ? absl::StrCat(", gamma ", FormatNumber(inputs.reduce_s_per_byte * 1e9), " ns a byte")
            : ", gamma 0");
  }
  const double buckets = static_cast<double>(inputs.buckets.size());
  absl::StrAppend(&text, "; M = ", FormatBytes(AllBytes(inputs)), " in ", FormatCount(buckets),
                  buckets == 1 ? " bucket" : " buckets", ", all T together ",
                  Ms(ExchangeOfAll(inputs)));
  return text;
}

struct StepTime {
  double step_s = 0;
  std::string terms;  // "data 1 ms + ..."
};

std::string Sum(const CostInputs& inputs, const std::string& middle) {
  return absl::StrCat(inputs.data_s > 0 ? absl::StrCat("data ", Ms(inputs.data_s), " + ") : "",
                      middle,
                      inputs.update_s > 0 ? absl::StrCat(" + update ", Ms(inputs.update_s)) : "");
}

StepTime SynchronousStep(const CostInputs& inputs) {
  const double compute_s = inputs.slowest_factor * inputs.compute_s;
  const double end_s = LastEnd(inputs, inputs.slowest_factor, inputs.workers);
  return {inputs.data_s + std::max(compute_s, end_s) + inputs.update_s,
          Sum(inputs, absl::StrCat("max(Z ", Ms(compute_s), ", c ", Ms(end_s), ")"))};
}

StepTime LocalStep(const CostInputs& inputs) {
  const double compute_s = inputs.slowest_factor * inputs.compute_s;
  const double exchange_s = ExchangeOfAll(inputs);
  return {
      inputs.data_s + compute_s + inputs.update_s + inputs.exchanged_share * exchange_s,
      Sum(inputs, absl::StrCat("Z ", Ms(compute_s), " + ", FormatPercent(inputs.exchanged_share),
                               " of the steps x T ", Ms(exchange_s)))};
}

// Of a worker that is `slowdown` times as slow as an ordinary one, on servers that have no
// more work than they can do.
double UnheldStep(const CostInputs& inputs, double slowdown) {
  const double end_s = LastEnd(inputs, slowdown, 1);
  return inputs.data_s + std::max(slowdown * inputs.compute_s, end_s) + inputs.update_s;
}

StepTime StaleStep(const CostInputs& inputs) {
  // N pushes of everything, one of each worker; their pulls go the other way meanwhile.
  const double served_s = PhaseTime(inputs, AllBytes(inputs), inputs.workers);
  const double ordinary_s = std::max(UnheldStep(inputs, 1), served_s);
  const double slowest_s = std::max(UnheldStep(inputs, inputs.slowest_factor), served_s);
  const bool bounded = inputs.pace == Pace::kBoundedStale;
  const double step_s =
      bounded ? slowest_s : (ordinary_s * (inputs.workers - 1) + slowest_s) / inputs.workers;
  const double alone_s = UnheldStep(inputs, bounded ? inputs.slowest_factor : 1);
  return {step_s, absl::StrCat("max(", bounded ? "the slowest worker" : "a worker",
                               " on idle servers ", Ms(alone_s), ", N D ", Ms(served_s), ")")};
}

}  // namespace

double ExchangeTime(const CostInputs& inputs, double bytes, int contributors) {
  return BucketTime(inputs, {bytes, 0}, contributors);
}

Cost CostOfStep(const CostInputs& inputs) {
  Cost cost;
  StepTime step;
  if (inputs.exchange == Exchange::kNone) {
    const double compute_s = inputs.workers * inputs.compute_s;
    const double data_s = inputs.workers * inputs.data_s;
    cost.compute_ms = compute_s * kMsPerS;
    cost.step_ms = (data_s + compute_s + inputs.update_s) * kMsPerS;
    cost.formula = absl::StrCat("step = N (data + Z) + update; N = ", inputs.workers, ", data ",
                                Ms(inputs.data_s), ", Z ", Ms(inputs.compute_s), ", update ",
                                Ms(inputs.update_s), "; = ", FormatNumber(cost.step_ms), " ms");
    return cost;
  }
  switch (inputs.pace) {
    case Pace::kSynchronous:
      step = SynchronousStep(inputs);
      break;
    case Pace::kLocalSteps:
      step = LocalStep(inputs);
      break;
    case Pace::kBoundedStale:
    case Pace::kAsync:
      step = StaleStep(inputs);
      break;
  }
  const double mean_compute_s =
      inputs.compute_s * (inputs.workers - 1 + inputs.slowest_factor) / inputs.workers;
  cost.step_ms = step.step_s * kMsPerS;
  cost.compute_ms = mean_compute_s * kMsPerS;
  cost.exposed_ms =
      std::max(0.0, step.step_s - inputs.data_s - mean_compute_s - inputs.update_s) * kMsPerS;
  cost.communication_share = cost.step_ms > 0 ? cost.exposed_ms / cost.step_ms : 0;
  cost.exchange_ms = ExchangeOfAll(inputs) * inputs.exchanged_share * kMsPerS;
  cost.latency_ms = Latency(inputs) * inputs.exchanged_share * kMsPerS;
  cost.formula = absl::StrCat(DescribeExchange(inputs), "; step = ", step.terms, " = ",
                              FormatNumber(cost.step_ms), " ms");
  return cost;
}

}  // namespace crossover::experiments
