#include "allreduce/replay.h"

#include <algorithm>

#include "core/check.h"

namespace crossover::allreduce {
namespace {

using Values = std::vector<float>;

Values Copy(const Values& buffer, const Segment& segment) {
  const auto begin = buffer.begin() + segment.offset;
  return Values(begin, begin + segment.length);
}

// What `from` sends to `to` in this step: its values as they were before the step.
Values Sent(const std::vector<Schedule>& schedules, const std::vector<Values>& before, size_t step,
            int from, int to, const Segment& expected) {
  for (const Transfer& send : schedules[from][step].sends) {
    if (send.peer != to) continue;
    CROSSOVER_CHECK(
        send.segment.offset == expected.offset && send.segment.length == expected.length,
        "both ends of a transfer mean the same segment");
    return Copy(before[from], send.segment);
  }
  CROSSOVER_CHECK(false, "what is received has been sent");
  return {};
}

// contributions[r] are rank r's values: ((0 + 1) + 2) + ...
Values SumInRankOrder(const std::vector<Values>& contributions) {
  Values sum = contributions[0];
  for (size_t rank = 1; rank < contributions.size(); ++rank) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + contributions[rank][i];
  }
  return sum;
}

}  // namespace

std::vector<Values> Replay(const std::vector<Schedule>& schedules, std::vector<Values> buffers) {
  CROSSOVER_CHECK(schedules.size() == buffers.size(), "a buffer a rank");
  const int world_size = static_cast<int>(schedules.size());
  for (size_t step = 0; world_size > 0 && step < schedules[0].size(); ++step) {
    const std::vector<Values> before = buffers;
    for (int rank = 0; rank < world_size; ++rank) {
      const auto& [sends, receives, action] = schedules[rank][step];
      Values& ours = buffers[rank];
      std::vector<Values> contributions(world_size);
      for (const auto& [peer, segment] : receives) {
        const Values received = Sent(schedules, before, step, peer, rank, segment);
        contributions[peer] = received;
        for (int64_t i = 0; i < segment.length; ++i) {
          float& value = ours[segment.offset + i];
          if (action == Action::kReplace) value = received[i];
          if (action == Action::kAddReceived) value = received[i] + value;
        }
      }
      if (action == Action::kKeepForOwner && !receives.empty()) {
        const Segment segment = receives[0].segment;
        contributions[rank] = Copy(before[rank], segment);
        std::ranges::copy(SumInRankOrder(contributions), ours.begin() + segment.offset);
      }
    }
  }
  return buffers;
}

}  // namespace crossover::allreduce
