#include "ps/simulator.h"

#include <algorithm>
#include <queue>
#include <random>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ps/payload.h"
#include "ps/policy.h"

namespace crossover::ps {
namespace {

// A part's push reaches its server, or a part's reply its worker.
struct Event {
  int64_t time_ns = 0;
  int64_t sequence = 0;  // breaks ties: first planned, first served
  bool is_push = false;
  int worker = 0;
  int part = 0;
  bool operator>(const Event& other) const {
    return time_ns != other.time_ns ? time_ns > other.time_ns : sequence > other.sequence;
  }
};

struct Worker {
  std::mt19937_64 random;
  int64_t step = 0;
  std::vector<float> parameters;
  std::vector<float> pushed;
  std::vector<int64_t> versions;  // by part
  std::vector<int64_t> reply_ns;  // by part: this step's reply's time on its way
  int missing_replies = 0;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options)
      : options_(options), policy_(PolicyFor(options.job)) {}
  absl::StatusOr<History> Run();

 private:
  absl::Status CheckOptions() const;
  absl::Status MakeParts();
  int64_t Draw(Worker& worker, int64_t min, int64_t max);
  int64_t DrawComputeNs(int rank);
  int64_t DrawTravelNs(Worker& worker);
  int64_t LinkNs(int64_t values) const;
  int64_t PushesOfWorker() const;
  void BeginStep(int rank);
  absl::Status PushArrives(const Event& event);
  void ReplyArrives(const Event& event);
  void LeaveAll(int rank);
  void Send(int part, const std::vector<Release>& released);
  void Plan(int64_t delay_ns, bool is_push, int worker, int part);
  template <typename T>
  std::span<T> Stretch(std::vector<T>& buffer, int part) {
    return std::span(buffer).subspan(offsets_[part], options_.part_lengths[part]);
  }

  const SimulationOptions& options_;
  const Policy policy_;
  std::vector<int64_t> offsets_;
  std::vector<ShardPart> parts_;
  std::vector<Worker> workers_;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
  int64_t now_ns_ = 0;
  int64_t sequence_ = 0;
  History history_;
};

absl::Status Simulation::CheckOptions() const {
  if (options_.job.optimizer().clip_norm() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer.clip_norm is ", options_.job.optimizer().clip_norm(),
                     "; allowed: 0, since simulated workers clip nothing; fix: "
                     "--optimizer.clip_norm=0"));
  }
  int64_t length = 0;
  for (const int64_t part_length : options_.part_lengths) {
    if (part_length <= 0) return absl::InvalidArgumentError("a part of no values");
    length += part_length;
  }
  if (length != static_cast<int64_t>(options_.parameters.size())) {
    return absl::InvalidArgumentError(absl::StrCat("parts of ", length, " values for ",
                                                   options_.parameters.size(), " parameters"));
  }
  if (!options_.slowdown.empty() &&
      options_.slowdown.size() != static_cast<size_t>(options_.job.workers())) {
    return absl::InvalidArgumentError("slowdown needs one factor for each worker");
  }
  return absl::OkStatus();
}

absl::Status Simulation::MakeParts() {
  int64_t offset = 0;
  for (const int64_t length : options_.part_lengths) {
    ShardPart part(options_.job, policy_, length, options_.steps);
    const auto first = std::span(options_.parameters).subspan(offset, length);
    RETURN_IF_ERROR(part.Initialize(Payload(std::as_bytes(first))));
    parts_.push_back(std::move(part));
    offsets_.push_back(offset);
    offset += length;
  }
  return absl::OkStatus();
}

// Not std::uniform_int_distribution, whose results are the library's own.
int64_t Simulation::Draw(Worker& worker, int64_t min, int64_t max) {
  return min + static_cast<int64_t>(worker.random() % static_cast<uint64_t>(max - min + 1));
}

int64_t Simulation::DrawComputeNs(int rank) {
  Worker& worker = workers_[rank];
  if (options_.compute_ns) return options_.compute_ns(rank, worker.step);
  const double slowdown = options_.slowdown.empty() ? 1 : options_.slowdown[rank];
  return static_cast<int64_t>(slowdown * static_cast<double>(Draw(worker, options_.compute_ns_min,
                                                                  options_.compute_ns_max)));
}

int64_t Simulation::DrawTravelNs(Worker& worker) {
  return Draw(worker, options_.travel_ns_min, options_.travel_ns_max);
}

int64_t Simulation::LinkNs(int64_t values) const {
  if (options_.link_bytes_per_s == 0) return 0;
  const auto bytes = static_cast<double>(values) * sizeof(float);
  return static_cast<int64_t>(bytes / options_.link_bytes_per_s * 1e9);
}

int64_t Simulation::PushesOfWorker() const {
  return options_.pushes > 0 ? options_.pushes : options_.steps;
}

void Simulation::Plan(int64_t delay_ns, bool is_push, int worker, int part) {
  events_.push({now_ns_ + delay_ns, sequence_++, is_push, worker, part});
}

void Simulation::BeginStep(int rank) {
  Worker& worker = workers_[rank];
  options_.compute(rank, worker.step, worker.parameters, worker.pushed);
  const int64_t compute_ns = DrawComputeNs(rank);
  worker.missing_replies = static_cast<int>(parts_.size());
  for (size_t part = 0; part < parts_.size(); ++part) {
    const int64_t length = options_.part_lengths[part];
    Plan(compute_ns + LinkNs(offsets_[part] + length) + DrawTravelNs(worker), true, rank,
         static_cast<int>(part));
    worker.reply_ns[part] = LinkNs(length) + DrawTravelNs(worker);
  }
}

absl::Status Simulation::PushArrives(const Event& event) {
  Worker& worker = workers_[event.worker];
  const Payload payload(std::as_bytes(Stretch(worker.pushed, event.part)));
  ASSIGN_OR_RETURN(
      const PushResult result,
      parts_[event.part].Push(event.worker, worker.step, worker.versions[event.part], payload));
  history_.pushes.push_back({now_ns_, event.part, event.worker, worker.step, result.staleness,
                             result.applied, result.held, result.late});
  Send(event.part, result.released);
  return absl::OkStatus();
}

// Lets replies go. Their workers wait for them, so the values may be written at once.
void Simulation::Send(int part, const std::vector<Release>& released) {
  for (const Release& release : released) {
    Worker& worker = workers_[release.worker];
    const auto parameters = parts_[part].parameters();
    std::copy(parameters.begin(), parameters.end(), Stretch(worker.parameters, part).begin());
    worker.versions[part] = release.version;
    history_.releases.push_back(
        {now_ns_, part, release.worker, release.step, release.version, release.lead_steps});
    Plan(worker.reply_ns[part], false, release.worker, part);
  }
}

void Simulation::ReplyArrives(const Event& event) {
  Worker& worker = workers_[event.worker];
  if (--worker.missing_replies > 0) return;
  worker.step = OpenStep(policy_, worker.step, *std::ranges::min_element(worker.versions));
  if (worker.step < PushesOfWorker()) {
    BeginStep(event.worker);
  } else {
    LeaveAll(event.worker);
  }
}

void Simulation::LeaveAll(int rank) {
  for (size_t part = 0; part < parts_.size(); ++part) {
    Send(static_cast<int>(part), parts_[part].Leave(rank).released);
  }
}

absl::StatusOr<History> Simulation::Run() {
  RETURN_IF_ERROR(CheckOptions());
  RETURN_IF_ERROR(MakeParts());
  for (int rank = 0; rank < options_.job.workers(); ++rank) {
    std::seed_seq seed = {options_.seed, static_cast<uint64_t>(rank)};
    Worker worker;
    worker.random.seed(seed);
    worker.parameters = options_.parameters;
    worker.pushed.resize(options_.parameters.size());
    worker.versions.resize(parts_.size());
    worker.reply_ns.resize(parts_.size());
    workers_.push_back(std::move(worker));
  }
  for (int rank = 0; rank < options_.job.workers() && PushesOfWorker() > 0; ++rank) {
    if (Pushes(policy_, rank)) BeginStep(rank);
  }
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    now_ns_ = event.time_ns;
    if (event.is_push) {
      RETURN_IF_ERROR(PushArrives(event));
    } else {
      ReplyArrives(event);
    }
  }
  history_.end_ns = now_ns_;
  for (const ShardPart& part : parts_) {
    history_.parameters.insert(history_.parameters.end(), part.parameters().begin(),
                               part.parameters().end());
    history_.rates.contributions += part.rates().contributions;
    history_.rates.scheduled += part.rates().scheduled;
    history_.rates.effective += part.rates().effective;
  }
  return std::move(history_);
}

}  // namespace

absl::StatusOr<History> Simulate(const SimulationOptions& options) {
  return Simulation(options).Run();
}

}  // namespace crossover::ps
