#include "bench/comm/in_process.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/comm/rank_links.h"
#include "core/status.h"

namespace crossover::bench {

absl::StatusOr<std::vector<Record>> RunInProcess(const TestPlan& plan, int ranks,
                                                 const std::function<absl::Status()>& stopped,
                                                 const Clock& clock) {
  if (plan.shared_buffers) {
    return absl::InvalidArgumentError(
        "--buffers=shared: threads share all memory; fix: --buffers=private");
  }
  std::vector<std::unique_ptr<RankLinks>> links = RankLinks::InProcess(plan, ranks, clock);
  std::vector<Record> records;  // rank 0's
  std::vector<absl::Status> statuses(ranks);
  std::atomic<int> running = ranks;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      statuses[rank] = links[rank]->Measure([&records, rank](const Record& record) {
        if (rank == 0) records.push_back(record);
      });
      if (!statuses[rank].ok()) links[rank]->Abort(statuses[rank]);
      --running;
    });
  }
  absl::Status status;
  while (running > 0 && status.ok()) status = stopped();
  if (!status.ok()) links[0]->Abort(status);
  for (std::thread& thread : threads) thread.join();
  RETURN_IF_ERROR(status);
  for (int rank = 0; rank < ranks; ++rank) {
    RETURN_IF_ERROR(Annotate(statuses[rank], absl::StrCat("rank ", rank, ": ")));
  }
  return records;
}

}  // namespace crossover::bench
