#include "worker/worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/bucket_plan.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/status.h"
#include "core/strategy_traits.h"
#include "net/wire_bytes.h"
#include "worker/data/batch_loader.h"
#include "worker/data/dataset.h"
#include "worker/evaluation.h"
#include "worker/models/model.h"
#include "worker/strategies/strategy_table.h"
#include "worker/worker_report.h"

namespace crossover::worker {
namespace {

// How long a worker that lost a peer waits for the rendezvous to say why.
constexpr double kCauseWaitS = 1;

// Ranks whose shards of the data this process computes.
std::vector<int> ShardsOf(const proto::Job& job, int rank) {
  if (!TraitsOf(job).one_process) return {rank};
  std::vector<int> all(job.workers());
  for (int i = 0; i < job.workers(); ++i) all[i] = i;
  return all;
}

// An emulated model takes blank samples, as many as MakeStepPlan counts.
absl::StatusOr<TrainTest> DataOf(const proto::Job& job) {
  if (IsEmulated(job)) return BlankData(job.global_batch());
  return ReadData(job.data());
}

// The rendezvous may be another program's: what it says must fit our job.
absl::Status CheckRoster(const proto::Job& job, const net::Roster& roster) {
  const size_t servers = UsesServers(job) ? job.servers() : 0;
  if (roster.workers.size() != static_cast<size_t>(WorkerProcesses(job)) ||
      roster.servers.size() != servers) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the rendezvous's run has ", roster.workers.size(), " workers and ", roster.servers.size(),
        " servers, this job ", WorkerProcesses(job), " and ", servers));
  }
  for (const net::RosterMember& server : roster.servers) {
    if (server.data_address.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("server ", server.rank, " joined without an address"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::unique_ptr<BatchLoader>> MakeLoaders(const proto::Job& job, int rank,
                                                      const Dataset& train, const StepPlan& plan) {
  std::vector<std::unique_ptr<BatchLoader>> loaders;
  for (const int shard : ShardsOf(job, rank)) {
    const BatchLoader::Options options = {.seed = job.seed(),
                                          .accumulation = job.accumulation(),
                                          .drop_last = job.drop_last(),
                                          .rank = shard,
                                          .ranks = job.workers()};
    loaders.push_back(std::make_unique<BatchLoader>(train, plan, options, EpochPermutation));
  }
  return loaders;
}

}  // namespace

Worker::Worker(WorkerOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock), timeline_(clock) {
  identity_ = {.job_fingerprint = JobFingerprint(options_.job),
               .token = options_.token,
               .role = net::Role::kWorker,
               .rank = options_.rank};
}

Worker::~Worker() = default;

absl::Status Worker::Run() {
  absl::Status status = RunToTheEnd();
  if (status.ok() || rendezvous_ == nullptr) return status;
  // Those who lost a peer wait for the rendezvous to say why; a cause is told at once.
  if (aborted().ok() && (!absl::IsUnavailable(status) || !AbortedSoon())) {
    rendezvous_->ReportFailure(status);
  }
  // As everybody else hears it, with role, rank, address and step.
  const absl::Status said = rendezvous_->status();
  return said.ok() ? status : said;
}

absl::Status Worker::RunToTheEnd() {
  RETURN_IF_ERROR(Join());
  RETURN_IF_ERROR(Train());
  return Leave();
}

bool Worker::AbortedSoon() {
  std::unique_lock lock(mutex_);
  return abort_known_.wait_for(lock, std::chrono::duration<double>(kCauseWaitS),
                               [this] { return !aborted_.ok(); });
}

absl::Status Worker::Join() {
  const proto::Job& job = options_.job;
  if (options_.hosts_rendezvous) {
    net::RendezvousServer::Options host;
    host.address = options_.rendezvous_address;
    host.identity = identity_;
    host.workers = WorkerProcesses(job);
    host.servers = UsesServers(job) ? job.servers() : 0;
    host.join_s = job.deadlines().join_s();
    host.loss_s = job.deadlines().loss_s() / 2;
    host.hosted_by_worker_0 = true;
    ASSIGN_OR_RETURN(hosted_rendezvous_, net::RendezvousServer::Start(host, clock_));
  }
  net::RendezvousClient::Options member;
  member.address =
      hosted_rendezvous_ != nullptr ? hosted_rendezvous_->address() : options_.rendezvous_address;
  member.identity = identity_;
  member.join_s = job.deadlines().join_s();
  // Half the deadline to notice a silence, the other half to end (the watchdog).
  member.loss_s = job.deadlines().loss_s() / 2;
  ASSIGN_OR_RETURN(listener_, ListenForPeers(job, options_.listen_host, options_.listen_port));
  member.data_address = listener_.address();
  ASSIGN_OR_RETURN(rendezvous_,
                   net::RendezvousClient::Join(member, clock_,
                                               [this](const absl::Status& why) { OnAbort(why); }));
  {
    std::lock_guard lock(mutex_);
    member_ = rendezvous_.get();
  }
  RETURN_IF_ERROR(CheckRoster(job, rendezvous_->roster()));
  options_.log(absl::StrCat("joined the run of ", rendezvous_->roster().workers.size(),
                            " workers and ", rendezvous_->roster().servers.size(), " servers at ",
                            member.address));
  return absl::OkStatus();
}

absl::Status Worker::Train() {
  const proto::Job& job = options_.job;
  rendezvous_->SetStatus(-1, "load", 0, 0);
  ASSIGN_OR_RETURN(const TrainTest data, DataOf(job));
  ASSIGN_OR_RETURN(const StepPlan plan, MakeStepPlan(job, data.train.size()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                   MakeModel(job, data.train.shape, options_.rank, clock_,
                             SharesMemory(job) ? &shared_buffers_ : nullptr));
  const BucketSizes sizes = ScaledBucketSizes(job);
  const BucketPlan buckets = MakeBucketPlan(model->layout(), sizes.first_bytes, sizes.bytes);
  RETURN_IF_ERROR(aborted());
  options_.log(absl::StrCat("loaded ", data.train.size(), " training samples; ",
                            model->layout().length,
                            " parameters, buckets: ", buckets.buckets.size()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Links> links,
                   Links::Open({.job = job,
                                .identity = identity_,
                                .roster = rendezvous_->roster(),
                                .listener = std::move(listener_),
                                .buckets = buckets,
                                .shared_buffers = shared_buffers_,
                                .total_steps = plan.total_steps,
                                .cancelled = [this] { return aborted(); }},
                               timeline_));
  if (!links->transport().empty()) options_.log("collectives through " + links->transport());
  {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(aborted_);
    links_ = links.get();
  }
  absl::Status status = TrainOver(*links, data, plan, *model, buckets);
  std::lock_guard lock(mutex_);
  links_ = nullptr;
  return status;
}

absl::Status Worker::TrainOver(Links& links, const TrainTest& data, const StepPlan& plan,
                               Model& model, const BucketPlan& buckets) {
  const proto::Job& job = options_.job;
  const LearningRateSchedule learning_rate(job.learning_rate(), job.global_batch(),
                                           plan.total_steps);
  const std::unique_ptr<Strategy> strategy =
      MakeStrategy({.job = job,
                    .buckets = buckets,
                    .learning_rate = learning_rate,
                    .timeline = timeline_,
                    .parameters = model.parameters(),
                    .gradients = model.gradients(),
                    .total_steps = plan.total_steps,
                    .rank = options_.rank,
                    .contributors = job.workers(),
                    .communicator = links.communicator(),
                    .servers = links.servers(),
                    .barrier = [this, &job](const char* name) {
                      return rendezvous_->Barrier(name, job.deadlines().step_s());
                    }});
  const std::vector<std::unique_ptr<BatchLoader>> loaders =
      MakeLoaders(job, options_.rank, data.train, plan);
  std::vector<BatchLoader*> shards;
  for (const auto& loader : loaders) shards.push_back(loader.get());
  KeepSpansForReport(job, plan, timeline_);
  int64_t samples_done = 0;
  Trainer trainer({.job = job,
                   .plan = plan,
                   .buckets = buckets,
                   .rank = options_.rank,
                   .shards = shards,
                   .keep_snapshots = options_.rank == 0 && !IsEmulated(job),
                   .after_step =
                       [&](int64_t step, int64_t samples, double loss) {
                         samples_done += samples;
                         rendezvous_->SetStatus(step, "train", samples_done, loss);
                         return aborted();
                       }},
                  model, *strategy, timeline_, clock_);
  RETURN_IF_ERROR(strategy->Start());
  // The others may still load their data.
  RETURN_IF_ERROR(
      rendezvous_->Barrier("start", std::max(job.deadlines().join_s(), job.deadlines().step_s())));
  options_.log(absl::StrCat("training begins: ", plan.total_steps, " steps"));

  Trained trained;
  trained.wire_before = net::CountWireBytes();
  ASSIGN_OR_RETURN(trained.training, trainer.Run());
  // Both ledgers are of the training loop; what Finish moves comes on top.
  trained.wire_after = net::CountWireBytes();
  trained.counters = strategy->counters();
  trained.all_reduces = links.all_reduces();
  RETURN_IF_ERROR(strategy->Finish());
  trained.finished_ns = clock_.NowNs();
  const double train_s =
      static_cast<double>(trained.finished_ns - trained.training.start_ns) * 1e-9;
  options_.log(absl::StrFormat("training ended after %.2f s, %.0f samples/s here", train_s,
                               static_cast<double>(samples_done) / train_s));
  rendezvous_->SetStatus(plan.total_steps - 1, "evaluate", samples_done, 0);
  return WriteResults(trained, data.test, plan, model, buckets);
}

absl::Status Worker::WriteResults(const Trained& trained, const Dataset& test, const StepPlan& plan,
                                  Model& model, const BucketPlan& buckets) {
  std::vector<proto::Evaluation> evaluations;
  if (options_.rank == 0) {
    ASSIGN_OR_RETURN(evaluations, EvaluateAll(options_.job, plan, trained.training,
                                              trained.finished_ns - trained.training.start_ns, test,
                                              model, [this] { return aborted(); }));
    options_.log(evaluations.empty() ? "an emulated model has no accuracy"
                                     : absl::StrFormat("test accuracy %.2f%%",
                                                       100 * evaluations.back().accuracy()));
  }
  if (!options_.parameters_path.empty()) {
    RETURN_IF_ERROR(WriteParameters(model.parameters().host(), options_.parameters_path));
  }
  if (options_.report_path.empty()) return absl::OkStatus();
  return WriteWorkerReport(
      {.rank = options_.rank,
       .data_address = rendezvous_->roster().workers[options_.rank].data_address,
       .clock_offset = rendezvous_->clock_offset(),
       .timeline = timeline_,
       .job = options_.job,
       .plan = plan,
       .buckets = buckets,
       .training = trained.training,
       .evaluations = evaluations,
       .counters = trained.counters,
       .wire_before = trained.wire_before,
       .wire_after = trained.wire_after,
       .all_reduces = trained.all_reduces,
       .parameters = model.parameters().host(),
       .blas_library = BlasLibraryPath()},
      options_.report_path);
}

absl::Status Worker::Leave() {
  RETURN_IF_ERROR(rendezvous_->Leave());
  if (hosted_rendezvous_ != nullptr) {
    // The others still need the meeting point; they are bounded by its deadlines.
    while (!hosted_rendezvous_->WaitForEnd(0.2)) {
      if (absl::Status stopped = aborted(); !stopped.ok()) {
        hosted_rendezvous_->Abort(std::string(stopped.message()));
        return stopped;
      }
    }
    return hosted_rendezvous_->status();
  }
  return absl::OkStatus();
}

bool Worker::Stop(const absl::Status& why) {
  net::RendezvousClient* member;
  {
    std::lock_guard lock(mutex_);
    member = member_;
  }
  if (member == nullptr) return false;
  member->ReportFailure(why);
  OnAbort(why);
  return true;
}

void Worker::OnAbort(const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (!aborted_.ok()) return;
  aborted_ = why;
  abort_known_.notify_all();
  watchdog_.Arm(options_.job.deadlines().loss_s() / 2, std::string(why.message()));
  if (links_ != nullptr) links_->Abort(why);
}

absl::Status Worker::aborted() const {
  std::lock_guard lock(mutex_);
  return aborted_;
}

}  // namespace crossover::worker
