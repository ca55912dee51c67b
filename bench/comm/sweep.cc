#include "bench/comm/sweep.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "bench/comm/closed_form.h"
#include "bench/shared/repetitions.h"
#include "core/status.h"
#include "experiments/results/statistics.h"

namespace crossover::bench {
namespace {

using allreduce::Kind;

constexpr uint32_t kFillBefore = 1;
constexpr uint32_t kFillAfter = 2;

// One size in one place.
class Measurement {
 public:
  Measurement(const TestPlan& plan, Control& control, const Subject& subject, int64_t bytes,
              bool in_place)
      : plan_(plan),
        control_(control),
        subject_(subject),
        form_(plan.op, plan.type, plan.reduce, control.world_size()),
        value_bytes_(static_cast<int64_t>(BytesOf(plan.type))),
        in_place_(in_place) {
    count_ = bytes / value_bytes_;
    if (HasBlocks(plan.op)) count_ /= control.world_size();
  }

  absl::StatusOr<Record> Run() {
    RETURN_IF_ERROR(Allocate());
    RETURN_IF_ERROR(Check(kFillBefore));
    Rest();
    RETURN_IF_ERROR(Time());
    RETURN_IF_ERROR(Check(kFillAfter));
    return Collect();
  }

 private:
  int64_t whole_bytes() const {
    return count_ * value_bytes_ * (HasBlocks(plan_.op) ? control_.world_size() : 1);
  }
  int64_t input_bytes() const { return form_.InputLength(count_) * value_bytes_; }
  int64_t output_bytes() const { return form_.OutputLength(count_) * value_bytes_; }

  absl::Status Allocate() {
    const int64_t own_block = control_.rank() * count_ * value_bytes_;
    if (in_place_) {
      ASSIGN_OR_RETURN(output_buffer_, subject_.allocate(whole_bytes()));
      input_ = output_ = output_buffer_.data();
      if (plan_.op == Kind::kAllGather) input_ += own_block;
      if (plan_.op == Kind::kReduceScatter) output_ += own_block;
    } else {
      ASSIGN_OR_RETURN(input_buffer_, subject_.allocate(input_bytes()));
      ASSIGN_OR_RETURN(output_buffer_, subject_.allocate(output_bytes()));
      input_ = input_buffer_.data();
      output_ = output_buffer_.data();
    }
    // Pages are there before anything is timed.
    std::memset(output_buffer_.data(), 0, in_place_ ? whole_bytes() : output_bytes());
    if (!in_place_) std::memset(input_, 0, input_bytes());
    return absl::OkStatus();
  }

  absl::Status Call() {
    return subject_.run({.kind = plan_.op,
                         .type = plan_.type,
                         .op = plan_.reduce,
                         .count = count_,
                         .input = input_,
                         .output = output_,
                         .name = "comm_test",
                         .algorithm = plan_.algorithm});
  }

  // A call on values that are known.
  absl::Status Check(uint32_t fill) {
    if (plan_.op == Kind::kBarrier) return Call();
    if (!in_place_) std::memset(output_, 0xff, output_bytes());
    form_.FillInput(control_.rank(), fill, count_, input_);
    RETURN_IF_ERROR(Call());
    if (subject_.spoil) subject_.spoil(output_, output_bytes());
    wrong_ += form_.CountWrongOutput(control_.rank(), fill, count_, output_);
    if (!in_place_) wrong_ += form_.CountWrongInput(control_.rank(), fill, count_, input_);
    return absl::OkStatus();
  }

  // Sums in place would grow from call to call; of zeros they stay.
  void Rest() {
    if (in_place_ && plan_.op != Kind::kBarrier) {
      std::memset(output_buffer_.data(), 0, whole_bytes());
    }
  }

  double Seconds(int64_t since_ns) const {
    return static_cast<double>(control_.clock().NowNs() - since_ns) * 1e-9;
  }

  absl::Status Time() {
    RETURN_IF_ERROR(control_.Barrier());
    RETURN_IF_ERROR(Call());  // the first after a pause is another one
    const int64_t warm_ns = control_.clock().NowNs();
    for (int64_t i = 0; i < plan_.warmup; ++i) RETURN_IF_ERROR(Call());
    ASSIGN_OR_RETURN(const double call_s,
                     control_.Max(Seconds(warm_ns) / static_cast<double>(plan_.warmup)));
    const Repetitions repetitions = PlanRepetitions(plan_.iterations, plan_.budget_s, call_s);
    const double cpu_before_s = subject_.cpu_s();
    for (int64_t i = 0; i < repetitions.count; ++i) {
      RETURN_IF_ERROR(control_.Barrier());
      const int64_t start_ns = control_.clock().NowNs();
      for (int64_t call = 0; call < repetitions.batch; ++call) RETURN_IF_ERROR(Call());
      times_us_.push_back(Seconds(start_ns) * 1e6 / static_cast<double>(repetitions.batch));
    }
    cpu_us_ = (subject_.cpu_s() - cpu_before_s) * 1e6 /
              static_cast<double>(repetitions.batch * repetitions.count);
    return absl::OkStatus();
  }

  absl::StatusOr<Record> Collect() {
    std::vector<double> mine = times_us_;
    mine.push_back(cpu_us_);
    mine.push_back(static_cast<double>(wrong_));
    ASSIGN_OR_RETURN(const auto all, control_.Exchange(std::span<const double>(mine)));
    Record record = Describe();
    std::vector<double> slowest = times_us_;  // by repetition
    for (const std::vector<double>& rank : all) {
      for (size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], rank[i]);
      record.cpu_us += rank[slowest.size()];
      record.wrong += static_cast<int64_t>(rank[slowest.size() + 1]);
      record.rank_time_us.push_back(
          experiments::Median({rank.begin(), rank.begin() + static_cast<int64_t>(slowest.size())}));
    }
    const auto& ranks = record.rank_time_us;
    record.slowest_rank = std::max_element(ranks.begin(), ranks.end()) - ranks.begin();
    record.time_us = experiments::Median(slowest);
    const auto [least, most] = std::minmax_element(slowest.begin(), slowest.end());
    record.time_us_min = *least;
    record.time_us_max = *most;
    SetRates(record);
    return record;
  }

  Record Describe() const {
    Record record;
    record.library = "crossover";
    record.transport = subject_.transport;
    record.algorithm = subject_.algorithm(whole_bytes());
    record.op = WordFor(plan_.op);
    record.type = NameOf(plan_.type);
    record.reduce = NameOf(plan_.reduce);
    record.buffers = plan_.shared_buffers ? "shared" : "private";
    record.in_place = in_place_;
    record.ranks = control_.world_size();
    record.bytes = whole_bytes();
    return record;
  }

  const TestPlan& plan_;
  Control& control_;
  const Subject& subject_;
  const ClosedForm form_;
  const int64_t value_bytes_;
  const bool in_place_;
  int64_t count_ = 0;
  Buffer input_buffer_;
  Buffer output_buffer_;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  std::vector<double> times_us_;  // by repetition, of a call
  double cpu_us_ = 0;
  int64_t wrong_ = 0;
};

// The size that is measured where `bytes` is asked for: whole values, or N whole blocks of them.
int64_t WholeBytes(const TestPlan& plan, int world_size, int64_t bytes) {
  const int64_t unit =
      static_cast<int64_t>(BytesOf(plan.type)) * (HasBlocks(plan.op) ? world_size : 1);
  return bytes / unit * unit;
}

}  // namespace

absl::Status RunSweep(const TestPlan& plan, Control& control, const Subject& subject,
                      const std::function<void(const Record&)>& found) {
  std::set<int64_t> measured;
  for (const int64_t wanted : plan.sizes) {
    const int64_t bytes = WholeBytes(plan, control.world_size(), wanted);
    if (!measured.insert(bytes).second) continue;
    for (const bool in_place : {false, true}) {
      if (in_place ? !plan.in_place : !plan.out_of_place) continue;
      ASSIGN_OR_RETURN(const Record record,
                       Measurement(plan, control, subject, bytes, in_place).Run());
      found(record);
    }
  }
  return absl::OkStatus();
}

}  // namespace crossover::bench
