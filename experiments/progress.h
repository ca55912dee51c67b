// What a person sees while a comparison runs. On a terminal one line that is written
// anew; elsewhere a line when a run starts and one when it ends.
#ifndef CROSSOVER_EXPERIMENTS_PROGRESS_H_
#define CROSSOVER_EXPERIMENTS_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "core/clock.h"
#include "experiments/results/result.h"
#include "experiments/run_plan.h"
#include "net/rendezvous_server.h"

namespace crossover::experiments {

// What is shown of a run under way.
struct ProgressState {
  int run = 0;  // from 1
  int runs = 0;
  std::string strategy;
  std::string model;
  std::string label;  // "r1", "lr 0.05"
  std::string phase;  // of the slowest worker
  int64_t step = 0;   // done by the slowest worker
  int64_t total_steps = 0;
  double samples_per_second = 0;  // of all workers, over the last report; 0 before the first
  double loss = 0;
  double left_s = -1;  // for the whole comparison; negative: not known yet
};
// One line of at most 100 columns, without a newline.
std::string FormatProgress(const ProgressState& state);
// "2 min 05 s", "48 s".
std::string FormatDuration(double seconds);

// Belongs to the launcher's thread.
class ProgressPrinter {
 public:
  // `out` and `clock` outlive the printer.
  ProgressPrinter(std::FILE* out, bool terminal, const Clock& clock);
  void StartRun(const PlannedRun& run, int runs, int64_t total_steps);
  void Update(const std::vector<net::MemberState>& members);
  void EndRun(const RunResult& result);
  // Clears the line that is written anew: what follows is ordinary output.
  void Finish();
  // An ordinary line, above the line that is written anew.
  void Say(const std::string& line);

 private:
  void Rewrite(const std::string& line);
  double LeftSeconds() const;

  std::FILE* out_;
  const bool terminal_;
  const Clock& clock_;
  ProgressState state_;
  int64_t run_start_ns_ = 0;
  double finished_s_ = 0;  // of all runs that have ended under this printer
  int ended_ = 0;
  int64_t samples_ = 0;
  int64_t samples_at_ns_ = 0;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_PROGRESS_H_
