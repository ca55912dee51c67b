#include "worker/worker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/bucket_plan.h"
#include "core/divergence.h"
#include "core/emulation.h"
#include "core/job.h"
#include "core/status.h"
#include "core/strategy_traits.h"
#include "net/wire_bytes.h"
#include "worker/data/batch_loader.h"
#include "worker/data/dataset.h"
#include "worker/evaluation.h"
#include "worker/models/blas.h"
#include "worker/models/model.h"
#include "worker/models/torch_threads.h"
#include "worker/strategies/strategy_table.h"
#include "worker/worker_report.h"

namespace crossover::worker {
namespace {

// Ranks whose shards of the data this process computes.
std::vector<int> ShardsOf(const proto::Job& job, int rank) {
  if (!TraitsOf(job).one_process) return {rank};
  std::vector<int> all(job.workers());
  for (int i = 0; i < job.workers(); ++i) all[i] = i;
  return all;
}

// An emulated model takes blank samples, as many as MakeStepPlan counts.
absl::StatusOr<TrainTest> DataOf(const proto::Job& job, int rank) {
  if (IsEmulated(job)) return BlankData(job.global_batch());
  return ReadData(job.data(), rank == 0 ? Samples::kTrainAndTest : Samples::kTrain);
}

process::MembershipSession::Options SessionOptions(const WorkerOptions& options,
                                                   Watchdog& watchdog) {
  const proto::Job& job = options.job;
  // Half the deadline to notice a silence, the other half to end (the watchdog).
  const double half_loss_s = job.deadlines().loss_s() / 2;
  process::MembershipSession::Options session;
  session.identity = {.job_fingerprint = JobFingerprint(job),
                      .token = options.token,
                      .role = net::Role::kWorker,
                      .rank = options.rank,
                      .tls_pem = options.tls_pem};
  session.rendezvous_address = options.rendezvous_address;
  session.hosts_rendezvous = options.hosts_rendezvous;
  session.workers = WorkerProcesses(job);
  session.servers = UsesServers(job) ? job.servers() : 0;
  session.join_s = job.deadlines().join_s();
  session.loss_s = half_loss_s;
  session.on_abort = [&watchdog, half_loss_s](const absl::Status& why) {
    watchdog.Arm(half_loss_s, std::string(why.message()));
  };
  return session;
}

absl::Status CheckServerAddresses(const net::Roster& roster) {
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
    : options_(std::move(options)),
      clock_(clock),
      timeline_(clock),
      session_(SessionOptions(options_, watchdog_), clock) {}

Worker::~Worker() = default;

absl::Status Worker::Run() {
  return session_.Run([this] { return Listen(); }, [this] { return Train(); });
}

bool Worker::Stop(const absl::Status& why) { return session_.Stop(why); }

absl::StatusOr<std::string> Worker::Listen() {
  ASSIGN_OR_RETURN(listener_, ListenForPeers(options_.job, options_.listen_host,
                                             options_.listen_port, options_.tls_pem));
  return listener_.address();
}

absl::Status Worker::Train() {
  const proto::Job& job = options_.job;
  const net::Roster& roster = session_.member().roster();
  RETURN_IF_ERROR(CheckServerAddresses(roster));
  options_.log(absl::StrCat("joined the run of ", roster.workers.size(), " workers and ",
                            roster.servers.size(), " servers at ", session_.rendezvous_address()));
  session_.member().SetStatus(-1, "load", 0, 0);
  ASSIGN_OR_RETURN(const TrainTest data, DataOf(job, options_.rank));
  ASSIGN_OR_RETURN(const StepPlan plan, MakeStepPlan(job, data.train.size()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                   MakeModel(job, data.train.shape, options_.rank, clock_,
                             SharesMemory(job) ? &shared_buffers_ : nullptr));
  const BucketSizes sizes = ScaledBucketSizes(job);
  const BucketPlan buckets = MakeBucketPlan(model->layout(), sizes.first_bytes, sizes.bytes);
  RETURN_IF_ERROR(session_.aborted());
  options_.log(absl::StrCat("loaded ", data.train.size(), " training samples; ",
                            model->layout().length,
                            " parameters, buckets: ", buckets.buckets.size()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Links> links,
                   Links::Open({.job = job,
                                .identity = session_.identity(),
                                .roster = roster,
                                .listener = std::move(listener_),
                                .buckets = buckets,
                                .shared_buffers = shared_buffers_,
                                .total_steps = plan.total_steps,
                                .cancelled = [this] { return session_.aborted(); }},
                               timeline_));
  if (!links->transport().empty()) options_.log("collectives through " + links->transport());
  if (!links->server_routes().empty()) options_.log("parameters " + links->server_routes());
  return session_.WithAbort([&links](const absl::Status& why) { links->Abort(why); },
                            [&] { return TrainOver(*links, data, plan, *model, buckets); });
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
                      return session_.member().Barrier(name, job.deadlines().step_s());
                    }});
  const std::vector<std::unique_ptr<BatchLoader>> loaders =
      MakeLoaders(job, options_.rank, data.train, plan);
  std::vector<BatchLoader*> shards;
  for (const auto& loader : loaders) shards.push_back(loader.get());
  KeepSpansForReport(job, plan, timeline_);
  int64_t samples_done = 0;
  Trained trained;
  DivergenceWatch divergence(job.divergence());
  Trainer trainer({.job = job,
                   .plan = plan,
                   .buckets = buckets,
                   .rank = options_.rank,
                   .shards = shards,
                   .keep_snapshots = options_.rank == 0 && !IsEmulated(job),
                   .after_step = [&](int64_t step, int64_t samples, double loss) -> absl::Status {
                     samples_done += samples;
                     session_.member().SetStatus(step, "train", samples_done, loss);
                     RETURN_IF_ERROR(session_.aborted());
                     trained.divergence = divergence.Add(loss);
                     if (trained.divergence.empty()) return absl::OkStatus();
                     return DivergenceError(job, options_.rank, step, trained.divergence,
                                            strategy->counters());
                   }},
                  model, *strategy, timeline_, clock_);
  RETURN_IF_ERROR(strategy->Start());
  // The others may still load their data.
  RETURN_IF_ERROR(session_.member().Barrier(
      "start", std::max(job.deadlines().join_s(), job.deadlines().step_s())));
  options_.log(absl::StrCat("training begins: ", plan.total_steps, " steps"));

  trained.all_reduces = links.all_reduces();
  trained.training.start_ns = clock_.NowNs();
  trained.wire_before = net::CountWireBytes();
  absl::StatusOr<TrainingResult> training = trainer.Run();
  // Both ledgers are of the training loop; what Finish moves comes on top.
  trained.wire_after = net::CountWireBytes();
  trained.counters = strategy->counters();
  if (!trained.divergence.empty()) {
    // For whoever looks into it; the run has failed, whether this can be written or not.
    trained.training.end_ns = clock_.NowNs();
    (void)WriteReport(trained, {}, plan, model, buckets);
  }
  ASSIGN_OR_RETURN(trained.training, std::move(training));
  RETURN_IF_ERROR(strategy->Finish());
  trained.finished_ns = clock_.NowNs();
  LogEndOfTraining(trained, samples_done);
  session_.member().SetStatus(plan.total_steps - 1, "evaluate", samples_done, 0);
  return WriteResults(trained, data.test, plan, model, buckets);
}

void Worker::LogEndOfTraining(const Trained& trained, int64_t samples_done) const {
  const double train_s =
      static_cast<double>(trained.finished_ns - trained.training.start_ns) * 1e-9;
  options_.log(absl::StrFormat("training ended after %.2f s, %.0f samples/s here", train_s,
                               static_cast<double>(samples_done) / train_s));
  if (trained.counters.mixed_version_steps > 0) {
    options_.log(absl::StrCat("parts were of different versions before ",
                              trained.counters.mixed_version_steps, " of ",
                              trained.counters.synchronisations, " synchronisations"));
  }
}

absl::Status Worker::WriteResults(const Trained& trained, const Dataset& test, const StepPlan& plan,
                                  Model& model, const BucketPlan& buckets) {
  std::vector<proto::Evaluation> evaluations;
  if (options_.rank == 0) {
    ASSIGN_OR_RETURN(evaluations, EvaluateAll(options_.job, plan, trained.training,
                                              trained.finished_ns - trained.training.start_ns, test,
                                              model, [this] { return session_.aborted(); }));
    options_.log(evaluations.empty() ? "an emulated model has no accuracy"
                                     : absl::StrFormat("test accuracy %.2f%%",
                                                       100 * evaluations.back().accuracy()));
  }
  if (!options_.parameters_path.empty()) {
    RETURN_IF_ERROR(WriteParameters(model.parameters().host(), options_.parameters_path));
  }
  return WriteReport(trained, evaluations, plan, model, buckets);
}

absl::Status Worker::WriteReport(const Trained& trained,
                                 const std::vector<proto::Evaluation>& evaluations,
                                 const StepPlan& plan, Model& model, const BucketPlan& buckets) {
  if (options_.report_path.empty()) return absl::OkStatus();
  return WriteWorkerReport(
      {.rank = options_.rank,
       .data_address = session_.member().roster().workers[options_.rank].data_address,
       .clock_offset = session_.member().clock_offset(),
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
       .divergence = trained.divergence,
       .parameters = model.parameters().host(),
       .blas_library = DescribeBlas(),
       .torch_threads = IsEmulated(options_.job) ? 0 : TorchThreads()},
      options_.report_path);
}

}  // namespace crossover::worker
