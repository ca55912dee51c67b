#include "lab/probe.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "lab/probe_plan.h"
#include "lab/probe_sockets.h"

namespace crossover::lab {
namespace {

constexpr size_t kBufferBytes = 262'144;
constexpr double kRampS = 0.5;
constexpr double kRampRoundTrips = 100;
constexpr double kRampQueues = 10;
constexpr double kRampSMax = 15;
constexpr int kWindowsMax = 4;

absl::Status CheckCancelled(const ProbeOptions& options) {
  if (!options.cancelled || !options.cancelled()) return absl::OkStatus();
  return absl::CancelledError("network lab: stopped while it was being probed");
}

absl::Status SleepFor(int64_t duration_ns, const ProbeOptions& options) {
  constexpr int64_t kSliceNs = 50'000'000;
  SystemClock clock;
  const int64_t end_ns = clock.NowNs() + duration_ns;
  while (clock.NowNs() < end_ns) {
    RETURN_IF_ERROR(CheckCancelled(options));
    clock.SleepNs(std::min(kSliceNs, end_ns - clock.NowNs()));
  }
  return absl::OkStatus();
}

struct Flow {
  ProbeFlow ends;
  Connection connection;
  std::atomic<int64_t> received_bytes = 0;
};

// Threads that keep every flow's sockets full and empty. A node's ends belong to one
// thread; there are no more threads than cores or nodes.
class Load {
 public:
  Load(std::vector<std::unique_ptr<Flow>>& flows, int nodes) : flows_(flows) {
    const int threads =
        std::max(1, std::min<int>(nodes, static_cast<int>(std::thread::hardware_concurrency())));
    for (int thread = 0; thread < threads; ++thread) {
      threads_.emplace_back([this, thread, threads] { Move(thread, threads); });
    }
  }
  ~Load() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  void Move(int thread, int threads) {
    std::vector<pollfd> waits;
    std::vector<Flow*> received_by;  // null: the sending end
    for (const std::unique_ptr<Flow>& flow : flows_) {
      if (flow->ends.from % threads == thread) {
        waits.push_back({.fd = flow->connection.from.get(), .events = POLLOUT, .revents = 0});
        received_by.push_back(nullptr);
      }
      if (flow->ends.to % threads == thread) {
        waits.push_back({.fd = flow->connection.to.get(), .events = POLLIN, .revents = 0});
        received_by.push_back(flow.get());
      }
    }
    std::vector<char> buffer(kBufferBytes, 'x');
    constexpr int kWaitMs = 20;
    // Data gather meanwhile: to wake for every segment would cost more than moving it.
    constexpr int64_t kRestNs = 500'000;
    SystemClock clock;
    while (!stop_) {
      clock.SleepNs(kRestNs);
      poll(waits.data(), waits.size(), kWaitMs);
      for (size_t i = 0; i < waits.size(); ++i) {
        if ((waits[i].revents & POLLOUT) != 0) {
          send(waits[i].fd, buffer.data(), buffer.size(), MSG_NOSIGNAL);
        } else if ((waits[i].revents & POLLIN) != 0) {
          const ssize_t bytes = recv(waits[i].fd, buffer.data(), buffer.size(), 0);
          if (bytes > 0) received_by[i]->received_bytes += bytes;
        }
      }
    }
  }

  std::vector<std::unique_ptr<Flow>>& flows_;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

struct Counts {
  int64_t received_bytes = 0;
  int64_t retransmitted = 0;
};

std::vector<Counts> Count(const std::vector<std::unique_ptr<Flow>>& flows) {
  std::vector<Counts> counts;
  for (const std::unique_ptr<Flow>& flow : flows) {
    counts.push_back({flow->received_bytes, RetransmittedSegments(flow->connection.from)});
  }
  return counts;
}

// Slow start takes round trips, and a round trip may wait in full queues.
int64_t RampNs(const NetworkLab& lab) {
  const double round_trip_s = 2e-6 * lab.network().delay_us();
  double queue_s = 0;
  for (const Node& node : lab.nodes()) {
    if (node.link.rate_bits_per_s <= 0) continue;
    queue_s = std::max(queue_s,
                       static_cast<double>(node.link.queue_bytes) * 8 / node.link.rate_bits_per_s);
  }
  const double ramp_s = kRampS + kRampRoundTrips * round_trip_s + kRampQueues * queue_s;
  return static_cast<int64_t>(std::min(ramp_s, kRampSMax) * 1e9);
}

// Long enough for 150 super-frames of 16 KiB on the slowest link: their number is what the
// rate is read from.
double SteadySeconds(const std::vector<double>& rates, double wanted) {
  constexpr double kBits = 150 * 16384 * 8;
  constexpr double kLongest = 30;
  for (double rate : rates) {
    if (rate > 0) wanted = std::max(wanted, std::min(kBits / rate, kLongest));
  }
  return wanted;
}

// For each node.
std::vector<double> LinkRates(const std::vector<Node>& nodes) {
  std::vector<double> rates;
  for (const Node& node : nodes) rates.push_back(node.link.rate_bits_per_s);
  return rates;
}

absl::Status MeasureWindow(const std::vector<std::unique_ptr<Flow>>& flows, double seconds,
                           const ProbeOptions& options, ProbeResult& result) {
  const SystemClock clock;
  const int64_t begin_ns = clock.NowNs();
  const std::vector<Counts> begin = Count(flows);
  RETURN_IF_ERROR(SleepFor(static_cast<int64_t>(seconds * 1e9), options));
  result.seconds = static_cast<double>(clock.NowNs() - begin_ns) / 1e9;
  const std::vector<Counts> end = Count(flows);
  for (ProbedNode& node : result.nodes) {
    node.send_bytes_per_s = node.receive_bytes_per_s = 0;
    node.retransmitted_segments = 0;
  }
  for (size_t i = 0; i < flows.size(); ++i) {
    ProbedNode& from = result.nodes[flows[i]->ends.from];
    ProbedNode& to = result.nodes[flows[i]->ends.to];
    const double bytes_per_s =
        static_cast<double>(end[i].received_bytes - begin[i].received_bytes) / result.seconds;
    from.send_bytes_per_s += bytes_per_s;
    to.receive_bytes_per_s += bytes_per_s;
    from.retransmitted_segments += end[i].retransmitted - begin[i].retransmitted;
  }
  return absl::OkStatus();
}

absl::Status MeasureRates(const NetworkLab& lab, const ProbeOptions& options, ProbeResult& result) {
  const std::vector<Node>& nodes = lab.nodes();
  const std::vector<double> rates = LinkRates(nodes);
  std::vector<std::unique_ptr<Flow>> flows;
  for (const ProbeFlow& ends : ProbeFlows(rates)) {
    RETURN_IF_ERROR(CheckCancelled(options));
    flows.push_back(std::make_unique<Flow>());
    flows.back()->ends = ends;
    ASSIGN_OR_RETURN(flows.back()->connection, Connect(nodes[ends.from], nodes[ends.to]));
  }
  if (flows.empty()) return absl::OkStatus();
  const Load load(flows, static_cast<int>(nodes.size()));
  RETURN_IF_ERROR(SleepFor(RampNs(lab), options));
  // A loss that TCP answers within a window says little of the links: the flows run on, and
  // one whole window in which every link keeps its promise is the answer.
  for (int window = 0; window < kWindowsMax; ++window) {
    RETURN_IF_ERROR(MeasureWindow(flows, SteadySeconds(rates, options.seconds), options, result));
    if (CheckRates(result).ok()) break;
  }
  return absl::OkStatus();
}

absl::Status MeasureRoundTrips(const NetworkLab& lab, const ProbeOptions& options,
                               ProbeResult& result) {
  const std::vector<Node>& nodes = lab.nodes();
  for (size_t i = 0; i < nodes.size() && nodes.size() > 1; ++i) {
    const Node& from = nodes[i];
    const Node& to = nodes[(i + 1) % nodes.size()];
    ASSIGN_OR_RETURN(const Connection connection, Connect(from, to));
    RETURN_IF_ERROR(RoundTripUs(connection, from, to).status());  // warms the caches up
    std::vector<double> us;
    for (int round = 0; round < std::max(1, options.round_trips); ++round) {
      RETURN_IF_ERROR(CheckCancelled(options));
      ASSIGN_OR_RETURN(us.emplace_back(), RoundTripUs(connection, from, to));
    }
    std::sort(us.begin(), us.end());
    ProbedNode& probed = result.nodes[i];
    probed.next = to.name;
    probed.rtt_us_min = us.front();
    probed.rtt_us_median = us[us.size() / 2];
    probed.promised_rtt_us = from.link.delay_us + to.link.delay_us;
  }
  return absl::OkStatus();
}

absl::Status Measure(const NetworkLab& lab, const ProbeOptions& options, ProbeResult& result) {
  RETURN_IF_ERROR(MeasureRoundTrips(lab, options, result));
  return MeasureRates(lab, options, result);
}

// Sets every lossy node's loss to `share` of the spec's.
absl::Status ScaleLosses(NetworkLab& lab, double share) {
  for (const Node& node : lab.nodes()) {
    if (node.link.loss_fraction <= 0) continue;
    RETURN_IF_ERROR(lab.SetLoss(node.name, share * node.link.loss_fraction));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProbeResult> ProbeLab(NetworkLab& lab, const ProbeOptions& options) {
  ProbeResult result;
  result.lab = lab.Describe();
  const std::vector<double> rates = LinkRates(lab.nodes());
  const std::vector<PromisedRate> promised = PromisedRates(ProbeFlows(rates), rates);
  for (size_t i = 0; i < promised.size(); ++i) {
    ProbedNode& node = result.nodes.emplace_back();
    node.name = lab.nodes()[i].name;
    node.promised_send_bytes_per_s = TcpPayloadBytesPerS(promised[i].send);
    node.promised_receive_bytes_per_s = TcpPayloadBytesPerS(promised[i].receive);
  }
  RETURN_IF_ERROR(ScaleLosses(lab, 0));
  const absl::Status measured = Measure(lab, options, result);
  RETURN_IF_ERROR(ScaleLosses(lab, 1));
  RETURN_IF_ERROR(measured);
  return result;
}

absl::StatusOr<ProbeResult> ProbeUnshaped(LabOptions options, const ProbeOptions& probe_options) {
  options.network = NetworkSpec();
  options.cancelled = probe_options.cancelled;
  ASSIGN_OR_RETURN(const std::unique_ptr<NetworkLab> lab, NetworkLab::Up(options));
  ASSIGN_OR_RETURN(const ProbeResult result, ProbeLab(*lab, probe_options));
  RETURN_IF_ERROR(lab->Down());
  return result;
}

}  // namespace crossover::lab
