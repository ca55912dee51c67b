#include "tests/failure_case.h"

#include "absl/strings/str_cat.h"
#include "tests/cluster_fixture.h"

namespace crossover::tests {
namespace {

const char* NameOf(Victim victim) {
  switch (victim) {
    case Victim::kWorker:
      return "worker";
    case Victim::kServer:
      return "server";
    case Victim::kCompare:
      return "compare";
  }
  return "";
}

const char* NameOf(Blow blow) {
  switch (blow) {
    case Blow::kKilled:
      return "killed";
    case Blow::kStoppedLong:
      return "stopped_long";
    case Blow::kStoppedShort:
      return "stopped_short";
    case Blow::kTerminated:
      return "terminated";
    case Blow::kLinkCut:
      return "link_cut";
    case Blow::kLinkLossy:
      return "link_lossy";
    case Blow::kWrongClock:
      return "wrong_clock";
    case Blow::kDataUnreadable:
      return "data_unreadable";
  }
  return "";
}

const char* NameOf(Moment moment) {
  switch (moment) {
    case Moment::kBeforeJoin:
      return "before_join";
    case Moment::kInAStep:
      return "in_a_step";
    case Moment::kAtTheEnd:
      return "at_the_end";
  }
  return "";
}

}  // namespace

std::string NameOf(const FailureCase& cell) {
  return absl::StrCat(NameOf(cell.victim), "_", NameOf(cell.blow), "_", NameOf(cell.moment));
}

bool GoesOn(const FailureCase& cell) {
  return cell.blow == Blow::kStoppedShort || cell.blow == Blow::kLinkLossy ||
         cell.blow == Blow::kWrongClock;
}

double EndsWithinS(const FailureCase& cell) {
  if (GoesOn(cell)) return 0;
  // A little for a machine with fewer cores than processes.
  constexpr double kSlackS = 2;
  const bool silent = cell.blow == Blow::kStoppedLong || cell.blow == Blow::kLinkCut;
  // Who never joined is missed only when the time to join is over; the data are read once all
  // have joined.
  const bool joins = (silent && cell.moment == Moment::kBeforeJoin) || NeedsOddHost(cell);
  return (joins ? kJoinS : 0) + kLossS + kSlackS;
}

bool NeedsLab(const FailureCase& cell) {
  return cell.blow == Blow::kLinkCut || cell.blow == Blow::kLinkLossy;
}

bool NeedsOddHost(const FailureCase& cell) {
  return cell.blow == Blow::kWrongClock || cell.blow == Blow::kDataUnreadable;
}

std::vector<FailureCase> FailureMatrix() {
  std::vector<FailureCase> cells;
  for (const Victim victim : {Victim::kWorker, Victim::kServer, Victim::kCompare}) {
    for (const Blow blow : {Blow::kKilled, Blow::kStoppedLong, Blow::kStoppedShort,
                            Blow::kTerminated, Blow::kLinkCut, Blow::kLinkLossy}) {
      for (const Moment moment : {Moment::kBeforeJoin, Moment::kInAStep, Moment::kAtTheEnd}) {
        // Worker 0 evaluates at the end, when the other has left.
        const int rank = moment == Moment::kAtTheEnd ? 0 : 1;
        cells.push_back({victim, blow, moment, proto::Strategy::ps_sync, rank});
      }
    }
  }
  const auto add = [&](proto::Strategy::Name strategy, Victim victim, Blow blow) {
    cells.push_back({victim, blow, Moment::kInAStep, strategy, 1});
  };
  add(proto::Strategy::allreduce_ring, Victim::kWorker, Blow::kKilled);
  add(proto::Strategy::allreduce_ring, Victim::kWorker, Blow::kStoppedLong);
  add(proto::Strategy::allreduce_ring, Victim::kWorker, Blow::kLinkCut);
  add(proto::Strategy::allreduce_ring, Victim::kWorker, Blow::kLinkLossy);
  add(proto::Strategy::ps_async, Victim::kWorker, Blow::kKilled);
  add(proto::Strategy::ps_async, Victim::kServer, Blow::kKilled);
  add(proto::Strategy::ps_ssp, Victim::kWorker, Blow::kKilled);
  add(proto::Strategy::local_sgd, Victim::kWorker, Blow::kKilled);
  const auto add_host = [&](proto::Strategy::Name strategy, Victim victim, Blow blow, int rank) {
    cells.push_back({victim, blow, Moment::kBeforeJoin, strategy, rank});
  };
  add_host(proto::Strategy::ps_sync, Victim::kWorker, Blow::kWrongClock, 1);
  add_host(proto::Strategy::ps_sync, Victim::kServer, Blow::kWrongClock, 0);
  add_host(proto::Strategy::allreduce_ring, Victim::kWorker, Blow::kWrongClock, 0);
  add_host(proto::Strategy::ps_sync, Victim::kWorker, Blow::kDataUnreadable, 1);
  add_host(proto::Strategy::allreduce_ring, Victim::kWorker, Blow::kDataUnreadable, 1);
  return cells;
}

std::string UnreadableFile(const FailureCase& cell) {
  return JobFor(cell).data().path() + "/train-images-idx3-ubyte";
}

proto::Job JobFor(const FailureCase& cell) {
  proto::Job job = SmallJob(MakeSmallData(1200));
  job.set_strategy(cell.strategy);
  job.set_workers(kMatrixWorkers);
  job.set_servers(kMatrixServers);
  job.mutable_deadlines()->set_loss_s(cell.blow == Blow::kLinkLossy ? 10 : kLossS);
  job.mutable_deadlines()->set_join_s(kJoinS);
  job.set_steps(GoesOn(cell) ? 40 : 100'000);
  if (cell.moment == Moment::kAtTheEnd) {
    // Many snapshots of a larger test set keep rank 0 evaluating after the last push.
    job.set_steps(GoesOn(cell) ? 60 : 400);
    job.mutable_measure()->set_evaluate_every_steps(1);
    job.mutable_data()->set_path("/usr/share/datasets/fashion-mnist");
  } else if (cell.blow == Blow::kStoppedShort) {
    job.set_steps(1500);  // still under way when the victim goes on
  } else if (cell.blow == Blow::kLinkLossy && cell.moment == Moment::kInAStep) {
    // Slow enough that the moment is met, and few steps are left for the lossy link.
    job.set_steps(80);
    job.mutable_straggler()->set_rank(0);
    job.mutable_straggler()->set_factor(30);
  }
  return job;
}

}  // namespace crossover::tests
