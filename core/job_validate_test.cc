// Every kind of refusal of ValidateJob, with its message; and what must pass.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The default job with overrides like "workers=0".
proto::Job JobWith(const std::vector<std::string>& overrides) {
  proto::Job job;
  for (const std::string& one : overrides) {
    const size_t equals = one.find('=');
    const absl::Status status = OverrideField(one.substr(0, equals), one.substr(equals + 1), job);
    EXPECT_TRUE(status.ok()) << status;
  }
  return job;
}

std::string Refused(const std::vector<std::string>& overrides) {
  const absl::Status status = ValidateJob(JobWith(overrides));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
      << ::testing::PrintToString(overrides);
  const std::string message(status.message());
  // Each names a field that exists, and a way out.
  EXPECT_TRUE(IsJobField(message.substr(0, message.find(' ')))) << message;
  EXPECT_THAT(message, HasSubstr("; allowed: "));
  EXPECT_THAT(message, HasSubstr("; fix: "));
  return message;
}

TEST(ValidateJobTest, TheDefaultJobIsValidWithEveryStrategy) {
  EXPECT_EQ(ValidateJob(proto::Job()), absl::OkStatus());
  for (const char* name :
       {"single", "ps_sync", "ps_backup", "ps_ssp", "ps_async", "ps_async_dc", "ps_async_scaled",
        "ps_elastic", "ps_groups", "allreduce_ring", "local_sgd"}) {
    EXPECT_EQ(ValidateJob(JobWith({std::string("strategy=") + name})), absl::OkStatus()) << name;
  }
}

TEST(ValidateJobTest, PoliciesFitTheWorkers) {
  EXPECT_THAT(Refused({"strategy=ps_backup", "ps.backup_workers=4"}),
              HasSubstr("allowed: 0 to 3, fewer than the 4 workers"));
  EXPECT_THAT(Refused({"strategy=ps_backup", "workers=1"}), HasSubstr("(the default)"));
  EXPECT_EQ(ValidateJob(JobWith({"ps.backup_workers=4"})), absl::OkStatus()) << "of others";
  EXPECT_THAT(Refused({"strategy=ps_backup", "optimizer.clip_norm=1"}),
              HasSubstr("each part averages other workers' gradients"));
  EXPECT_EQ(ValidateJob(JobWith({"strategy=ps_async", "optimizer.clip_norm=1"})), absl::OkStatus());
  EXPECT_THAT(Refused({"strategy=ps_elastic", "ps.elastic_rate=0.3"}),
              HasSubstr("at most 1 / workers, 0.25"));
  EXPECT_THAT(Refused({"strategy=ps_groups", "ps.groups=3"}),
              HasSubstr("what divides the 4 workers, so that groups weigh the same; fix: "
                        "--ps.groups=2"));
  EXPECT_THAT(Refused({"strategy=ps_groups", "ps.groups=8"}), HasSubstr("fix: --ps.groups=4"));
  EXPECT_EQ(ValidateJob(JobWith({"ps.groups=3"})), absl::OkStatus()) << "of others";
}

TEST(ValidateJobTest, OneVersionNeedsAnswersThatWaitForTheWholeStep) {
  for (const char* name : {"ps_backup", "ps_ssp", "ps_async", "ps_async_dc", "ps_async_scaled",
                           "ps_elastic", "ps_groups"}) {
    EXPECT_THAT(Refused({"ps.one_version=true", std::string("strategy=") + name}),
                HasSubstr(std::string("true while strategy ") + name));
  }
  for (const char* name : {"single", "ps_sync", "allreduce_ring", "local_sgd"}) {
    EXPECT_EQ(ValidateJob(JobWith({"ps.one_version=true", std::string("strategy=") + name})),
              absl::OkStatus());
  }
  EXPECT_EQ(
      ValidateJob(JobWith({"ps.one_version=true", "strategy=ps_ssp", "ps.staleness_bound=0"})),
      absl::OkStatus());
}

struct Bound {
  const char* path;
  std::vector<const char*> refused;
  std::vector<const char*> accepted;
  const char* allowed;
};

TEST(ValidateJobTest, TlsLeavesNothingOpen) {
  EXPECT_THAT(Refused({"strategy=allreduce_ring", "tls=true"}),
              HasSubstr("--allreduce.transport=grpc"));
  EXPECT_THAT(Refused({"strategy=allreduce_ring", "tls=true", "allreduce.transport=tcp"}),
              HasSubstr("grpc, where tls is true"));
  // Ranks that share memory meet over TCP.
  for (const char* transport :
       {"allreduce.transport=shared_memory", "allreduce.transport=automatic"}) {
    EXPECT_THAT(Refused({"strategy=allreduce_ring", "tls=true", transport}),
                HasSubstr("--allreduce.transport=grpc"));
  }
  EXPECT_EQ(
      ValidateJob(JobWith({"strategy=allreduce_ring", "tls=true", "allreduce.transport=grpc"})),
      absl::OkStatus());
  EXPECT_EQ(ValidateJob(JobWith({"strategy=ps_sync", "tls=true"})), absl::OkStatus());
}

TEST(ValidateJobTest, AnAlgorithmThatWouldNotRunIsRefused) {
  EXPECT_THAT(Refused({"allreduce.transport=shared_memory", "allreduce.algorithm=tree"}),
              HasSubstr("allreduce.algorithm is tree; allowed: automatic where"));
  EXPECT_EQ(ValidateJob(JobWith({"allreduce.transport=shared_memory"})), absl::OkStatus());
  EXPECT_THAT(Refused({"allreduce.fit=constants"}),
              HasSubstr("allreduce.algorithm is ring (the default); allowed: automatic where"));
  EXPECT_EQ(ValidateJob(JobWith({"allreduce.fit=constants", "allreduce.algorithm=automatic"})),
            absl::OkStatus());
}

TEST(ValidateJobTest, BoundsOfSingleFields) {
  const std::vector<Bound> bounds = {
      {"global_batch", {"0", "-4", "1073741828"}, {"4", "1073741824"}, "1 to 1073741824"},
      {"accumulation", {"0", "-1", "65537"}, {"1", "128"}, "1 to 65536"},
      {"workers", {"0", "-1", "1025"}, {"1", "512"}, "1 to 1024"},
      {"servers", {"-1", "1025"}, {"1", "1024"}, "0 to 1024"},
      {"steps", {"-1", "1000000001"}, {"0"}, "0 to 1000000000"},
      {"epochs", {"-1", "1000001"}, {"1"}, "0 to 1000000"},
      {"data.train_limit", {"-1"}, {"0", "1"}, "0 to "},
      {"data.test_limit", {"-1"}, {"0", "1"}, "0 to "},
      {"optimizer.momentum", {"-0.1", "1", "1.5"}, {"0.001", "0.999"}, "from 0 to below 1"},
      {"optimizer.clip_norm", {"-1", "1e7"}, {"0", "0.5"}, "0 to 1e6"},
      {"optimizer.weight_decay", {"-1e-9", "1e7"}, {"0", "0.01"}, "0 to 1e6"},
      {"optimizer.beta1", {"-0.1", "1"}, {"0", "0.99"}, "from 0 to below 1"},
      {"optimizer.beta2", {"-0.1", "1"}, {"0", "0.9999"}, "from 0 to below 1"},
      {"optimizer.epsilon", {"0", "-1", "1e-31", "2"}, {"1e-30", "1"}, "1e-30 to 1"},
      {"learning_rate.base", {"0", "-0.1", "1e7"}, {"1e-9", "10"}, "above 0, at most 1e6"},
      {"learning_rate.reference_batch", {"0", "-1"}, {"1"}, "1 to "},
      {"learning_rate.warmup_steps", {"-1"}, {"0", "10"}, "0 to "},
      {"learning_rate.warmup_fraction", {"-0.1", "1.1"}, {"0", "1"}, "0 to 1"},
      {"ps.staleness_bound", {"-1"}, {"0", "100"}, "0 to "},
      {"divergence.loss_multiple", {"-1", "0.5", "1", "1e7"}, {"0", "1.5", "1e6"}, "above 1"},
      {"divergence.window_steps", {"0", "-1"}, {"1", "1000"}, "1 to "},
      {"ps.elastic_rate", {"-0.1", "1"}, {"0", "0.25"}, "from 0 to below 1"},
      {"ps.groups", {"0", "-1", "1025"}, {"1", "3"}, "1 to 1024"},
      {"ps.delay_compensation", {"-0.1", "1e7"}, {"0", "2"}, "0 to 1e6"},
      {"ps.backup_workers", {"-1", "1024"}, {"0", "1023"}, "0 to 1023"},
      {"ps.part_bytes",
       {"0", "-4", "2", "65537", "67108868"},
       {"4", "67108864"},
       "a multiple of 4"},
      {"ps.credits", {"0", "-1", "1048577"}, {"1", "1048576"}, "1 to 1048576"},
      {"ps.channels", {"0", "-1", "65"}, {"1", "64"}, "1 to 64"},
      {"ps.apply_threads", {"-2", "65"}, {"-1", "64"}, "-1 to 64"},
      {"allreduce.chunk_bytes",
       {"0", "-4", "65538", "67108868"},
       {"4", "67108864"},
       "a multiple of 4"},
      {"local_sgd.local_steps", {"0", "-1"}, {"1"}, "1 to "},
      {"local_sgd.first_phase_steps", {"-1"}, {"0", "5"}, "0 to "},
      {"local_sgd.first_phase_fraction", {"-0.1", "1.1"}, {"0", "1"}, "0 to 1"},
      {"local_sgd.outer_learning_rate", {"0", "-1"}, {"0.7"}, "above 0, at most 1e6"},
      {"local_sgd.outer_momentum", {"-0.1", "1"}, {"0", "0.9"}, "from 0 to below 1"},
      {"buckets.first_bytes", {"0", "-1"}, {"1", "1000000000"}, "1 to "},
      {"buckets.bytes", {"0", "-1"}, {"1", "1000000000"}, "1 to "},
      {"deadlines.join_s", {"0", "0.5", "86401", "-1"}, {"1", "86400"}, "1 to 86400"},
      {"deadlines.loss_s", {"0", "0.4", "3601"}, {"0.5", "3600"}, "0.5 to 3600"},
      {"deadlines.step_s", {"0", "0.5", "86401"}, {"1", "86400"}, "1 to 86400"},
      {"measure.warmup_steps", {"-1"}, {"0"}, "0 to "},
      {"measure.target_accuracy", {"-0.1", "1.1"}, {"0", "1"}, "0 to 1"},
      {"measure.evaluate_every_steps", {"-1"}, {"0", "7"}, "0 to "},
      {"straggler.rank", {"-2", "4"}, {"-1", "0", "3"}, "-1 to 3"},
      {"data.validation_part", {"-0.1", "0.6"}, {"0", "0.1", "0.5"}, "0 to 0.5"},
      {"comparison.repetitions", {"0", "-1", "1001"}, {"1", "1000"}, "1 to 1000"},
  };
  for (const Bound& bound : bounds) {
    const std::string path = bound.path;
    for (const char* value : bound.refused) {
      const std::string message = Refused({path + "=" + value});
      EXPECT_THAT(message, StartsWith(path + " is ")) << value;
      EXPECT_THAT(message, HasSubstr(std::string("; allowed: ") + bound.allowed));
      EXPECT_THAT(message, HasSubstr("; fix: --" + path + "="));
    }
    for (const char* value : bound.accepted) {
      EXPECT_EQ(ValidateJob(JobWith({path + "=" + value})), absl::OkStatus()) << value;
    }
  }
}

TEST(ValidateJobTest, AWholeMessage) {
  EXPECT_EQ(Refused({"workers=0"}), "workers is 0; allowed: 1 to 1024; fix: --workers=1");
  EXPECT_EQ(Refused({"optimizer.momentum=1.5"}),
            "optimizer.momentum is 1.5; allowed: from 0 to below 1; fix: "
            "--optimizer.momentum=0.9");
  EXPECT_EQ(Refused({"ps.part_bytes=65537"}),
            "ps.part_bytes is 65537; allowed: a multiple of 4 (the bytes of a value) from 4 to "
            "67108864; fix: --ps.part_bytes=65536");
}

TEST(ValidateJobTest, HalvesAreForGradientsThatNeedNotBeTheSameBits) {
  EXPECT_EQ(ValidateJob(JobWith({"strategy=ps_sync", "ps.wire=fp16"})), absl::OkStatus());
  EXPECT_EQ(ValidateJob(JobWith({"strategy=ps_async", "ps.wire=bf16"})), absl::OkStatus());
  EXPECT_EQ(Refused({"strategy=ps_sync", "deterministic=true", "ps.wire=bf16"}),
            "ps.wire is bf16; allowed: fp32 where deterministic is true (halves would give other "
            "bits); fix: --ps.wire=fp32");
  EXPECT_EQ(Refused({"strategy=local_sgd", "ps.wire=fp16"}),
            "ps.wire is fp16; allowed: fp32 where workers push parameters, which halves would "
            "round each time; fix: --ps.wire=fp32");
}

TEST(ValidateJobTest, EveryDecimalNumberMustBeFinite) {
  for (const FieldHelp& field : JobFields()) {
    if (field.type != "a decimal number") continue;
    for (const char* value : {"nan", "inf", "-inf"}) {
      const std::vector<std::string> path = absl::StrSplit(field.path, '.');
      ASSERT_GT(path.size(), 1u);
      std::string text = path.back() + ": " + value;
      for (size_t i = path.size() - 1; i-- > 0;) text = path[i] + " { " + text + " }";
      const auto job = ParseJob(text, "test");
      ASSERT_TRUE(job.ok()) << job.status();
      const absl::Status status = ValidateJob(*job);
      EXPECT_THAT(std::string(status.message()), StartsWith(field.path + " is ")) << value;
    }
  }
}

TEST(ValidateJobTest, ASearchNeedsARangeAndAModelThatLearns) {
  EXPECT_THAT(Refused({"comparison.tune.lr.trials=1"}), HasSubstr("at least 2 trials"));
  EXPECT_THAT(Refused({"comparison.tune.lr.trials=3", "comparison.tune.lr.low=1"}),
              HasSubstr("3 with rates from 1 to 0.8"));
  EXPECT_THAT(Refused({"comparison.tune.lr.trials=3", "model=emulated", "steps=30", "epochs=0"}),
              HasSubstr("it learns nothing"));
  EXPECT_EQ(ValidateJob(JobWith({"comparison.tune.lr.trials=3"})), absl::OkStatus());
}

TEST(ValidateJobTest, ABurstThatWandersHasALength) {
  EXPECT_THAT(Refused({"straggler.rank=0", "straggler.wanders=true"}),
              StartsWith("straggler.wanders is true"));
  EXPECT_EQ(ValidateJob(JobWith({"straggler.rank=0", "straggler.factor=2", "straggler.wanders=true",
                                 "straggler.burst_steps=5"})),
            absl::OkStatus());
}

TEST(ValidateJobTest, TextsArePlain) {
  EXPECT_THAT(Refused({"name="}), StartsWith("name is \"\"; allowed: 1 to 200 bytes of UTF-8"));
  EXPECT_THAT(Refused({"name=" + std::string(201, 'x')}), StartsWith("name is "));
  EXPECT_THAT(Refused({"data.path="}), StartsWith("data.path is \"\""));
  EXPECT_THAT(Refused({"comparison.network="}), HasSubstr("fix: leave comparison.network out"));
  for (const char* text :
       {"a\nb", "\x7f", "\xff", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xe2\x28\xa1"}) {
    Refused({std::string("name=") + text});
    Refused({std::string("data.path=") + text});
  }
  for (const char* text : {"x", "K\xc3\xb6nig", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(ValidateJob(JobWith({std::string("name=") + text})), absl::OkStatus()) << text;
  }
}

TEST(ValidateJobTest, GlobalBatchIsAMultipleOfWorkersTimesAccumulation) {
  EXPECT_EQ(Refused({"global_batch=500", "workers=3", "accumulation=4"}),
            "global_batch is 500; allowed: a multiple of workers x accumulation, 3 x 4 = 12; fix: "
            "--global_batch=492 or --global_batch=504");
  EXPECT_EQ(Refused({"workers=3"}),
            "global_batch is 512 (the default); allowed: a multiple of workers x accumulation, 3 x "
            "1 = 3; fix: --global_batch=510 or --global_batch=513");
  EXPECT_THAT(Refused({"global_batch=2"}), HasSubstr("fix: --global_batch=4"));
  EXPECT_EQ(ValidateJob(JobWith({"global_batch=504", "workers=3", "accumulation=4"})),
            absl::OkStatus());
}

TEST(ValidateJobTest, ExactlyOneOfStepsAndEpochs) {
  EXPECT_EQ(Refused({"steps=50"}),
            "steps is 50 while epochs is 6 (the default); allowed: exactly one of the two above 0; "
            "fix: --epochs=0 to train 50 steps, or --steps=0");
  EXPECT_THAT(Refused({"epochs=0"}), StartsWith("steps is 0 (the default) and epochs is 0; "));
  EXPECT_EQ(ValidateJob(JobWith({"steps=50", "epochs=0"})), absl::OkStatus());
}

TEST(ValidateJobTest, NesterovNeedsMomentum) {
  EXPECT_THAT(Refused({"optimizer.momentum=0"}), HasSubstr("fix: --optimizer.name=sgd"));
  for (const char* name : {"sgd", "momentum", "adam"}) {
    EXPECT_EQ(ValidateJob(JobWith({"optimizer.momentum=0", std::string("optimizer.name=") + name})),
              absl::OkStatus());
  }
}

TEST(ValidateJobTest, WarmUpsAreShorterThanTheTraining) {
  const std::vector<std::string> steps50 = {"steps=50", "epochs=0"};
  const auto with = [&](const char* more) {
    std::vector<std::string> all = steps50;
    all.push_back(more);
    return all;
  };
  EXPECT_EQ(Refused(with("learning_rate.warmup_steps=51")),
            "learning_rate.warmup_steps is 51; allowed: 0 to the training's 50 steps; fix: "
            "--learning_rate.warmup_steps=5");
  EXPECT_EQ(Refused(with("measure.warmup_steps=50")),
            "measure.warmup_steps is 50; allowed: 0 to 49, so that some of the training's 50 steps "
            "are measured; fix: --measure.warmup_steps=5");
  EXPECT_THAT(Refused({"steps=20", "epochs=0"}),
              StartsWith("measure.warmup_steps is 20 (the default); allowed: 0 to 19"));
  EXPECT_EQ(ValidateJob(JobWith(with("learning_rate.warmup_steps=50"))), absl::OkStatus());
  EXPECT_EQ(ValidateJob(JobWith(with("measure.warmup_steps=49"))), absl::OkStatus());
}

TEST(ValidateJobTest, Cifar10NeedsAPathOfItsOwn) {
  EXPECT_THAT(Refused({"data.format=cifar10"}),
              StartsWith("data.path is \"/usr/share/datasets/fashion-mnist\" (the default); "));
  EXPECT_EQ(ValidateJob(JobWith({"data.format=cifar10", "data.path=here"})), absl::OkStatus());
}

TEST(ValidateJobTest, ServersAreNeededOnlyByStrategiesThatUseThem) {
  EXPECT_EQ(Refused({"servers=0"}),
            "servers is 0; allowed: 1 to 1024, since strategy ps_sync needs them; fix: "
            "--servers=1, or --strategy=allreduce_ring");
  Refused({"servers=0", "strategy=ps_ssp"});
  Refused({"servers=0", "strategy=ps_async"});
  EXPECT_THAT(Refused({"servers=0", "strategy=local_sgd", "local_sgd.through=servers"}),
              HasSubstr("local_sgd through servers needs them; fix: --servers=1, or "
                        "--local_sgd.through=allreduce"));
  for (const char* name : {"single", "allreduce_ring", "local_sgd"}) {
    EXPECT_EQ(ValidateJob(JobWith({"servers=0", std::string("strategy=") + name})),
              absl::OkStatus());
    EXPECT_EQ(ValidateJob(JobWith({"servers=7", std::string("strategy=") + name})),
              absl::OkStatus());
  }
}

TEST(ValidateJobTest, DeterministicNeedsAFixedOrderOfSums) {
  EXPECT_EQ(Refused({"deterministic=true", "strategy=ps_async"}),
            "deterministic is true while strategy ps_async applies gradients in the order of their "
            "arrival, which no two runs share; allowed: with single, ps_sync, allreduce_ring, "
            "local_sgd; fix: --deterministic=false, or --strategy=ps_sync");
  EXPECT_THAT(Refused({"deterministic=true", "strategy=ps_ssp"}), HasSubstr("ps_ssp applies"));
  for (const char* name : {"single", "ps_sync", "allreduce_ring", "local_sgd"}) {
    EXPECT_EQ(ValidateJob(JobWith({"deterministic=true", std::string("strategy=") + name})),
              absl::OkStatus());
  }
  EXPECT_THAT(Refused({"deterministic=true", "allreduce.algorithm=ring"}),
              StartsWith("allreduce.algorithm is ring; allowed: direct where deterministic is "));
  EXPECT_EQ(ValidateJob(JobWith({"deterministic=true", "allreduce.algorithm=direct"})),
            absl::OkStatus());
}

TEST(ValidateJobTest, AStragglerIsAnExistingWorkerThatIsSlowed) {
  EXPECT_EQ(ValidateJob(JobWith({"straggler.rank=1", "straggler.factor=3"})), absl::OkStatus());
  for (const char* factor : {"0.5", "0", "-1", "1001"}) {
    EXPECT_THAT(Refused({"straggler.rank=1", std::string("straggler.factor=") + factor}),
                HasSubstr("allowed: 1 to 1000"));
  }
  EXPECT_THAT(Refused({"straggler.factor=3"}),
              StartsWith("straggler.factor is 3; allowed: 1 where straggler.rank is -1 (none)"));
  EXPECT_THAT(Refused({"straggler.rank=0", "straggler.factor=3", "strategy=single"}),
              StartsWith("straggler.rank is 0; allowed: -1 (none) where strategy is single"));
}

TEST(ValidateJobTest, AnEmulatedModelNeedsStepsAndAloneIsScaled) {
  const std::vector<std::string> emulated = {"model=emulated", "steps=30", "epochs=0"};
  const auto with = [&emulated](const std::string& one) {
    std::vector<std::string> all = emulated;
    all.push_back(one);
    return all;
  };
  EXPECT_EQ(ValidateJob(JobWith(emulated)), absl::OkStatus());
  EXPECT_EQ(ValidateJob(JobWith(with("emulated.bytes_scale=64"))), absl::OkStatus());
  EXPECT_THAT(Refused({"model=emulated"}),
              StartsWith("epochs is 6 (the default); allowed: 0 where model is emulated"));
  EXPECT_THAT(Refused({"emulated.time_scale=2"}),
              HasSubstr("1, unless model is emulated: real compute cannot be scaled"));
  EXPECT_THAT(Refused(with("emulated.bytes_scale=0.5")), HasSubstr("allowed: 1 to 1000"));
  EXPECT_THAT(Refused(with("emulated.compute_speed=0")), HasSubstr("allowed: 0.001 to 1000"));
  EXPECT_THAT(Refused(with("global_batch=8388608")), HasSubstr("allowed: 1 to 4194304"));
}

TEST(ValidateJobTest, LayersOfAnEmulatedModelAreChecked) {
  proto::Job job = JobWith({"model=emulated", "steps=30", "epochs=0"});
  proto::Layer& layer = *job.mutable_emulated()->add_layers();
  layer.set_name("conv");
  EXPECT_THAT(std::string(ValidateJob(job).message()),
              StartsWith("emulated.layers is a list without gradients"));
  layer.set_gradient_bytes(6);
  EXPECT_THAT(std::string(ValidateJob(job).message()),
              StartsWith("emulated.layers[0] is \"conv\", a layer of 6 gradient bytes"));
  layer.set_gradient_bytes(8);
  EXPECT_EQ(ValidateJob(job), absl::OkStatus());
  layer.set_backward_ms(-1);
  EXPECT_THAT(std::string(ValidateJob(job).message()), HasSubstr("a layer of -1 ms"));
}

TEST(ValidateJobTest, AComparisonHasEachStrategyOnce) {
  EXPECT_EQ(Refused({"comparison.strategies=single,ps_sync,single"}),
            "comparison.strategies is a list with single twice; allowed: each strategy once; fix: "
            "leave out one single");
  EXPECT_EQ(ValidateJob(JobWith({"comparison.strategies=single,ps_sync"})), absl::OkStatus());
}

TEST(ValidateJobTest, OfSeveralErrorsTheFirstInTheFieldsOrder) {
  EXPECT_THAT(Refused({"comparison.repetitions=0", "workers=0", "name="}), StartsWith("name is"));
  EXPECT_THAT(Refused({"deadlines.join_s=0", "servers=-1"}), StartsWith("servers is"));
}

}  // namespace
}  // namespace crossover
