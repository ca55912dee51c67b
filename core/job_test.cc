#include "core/job.h"

#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::string ParseError(std::string_view text) {
  const auto job = ParseJob(text, "specs/x.textproto");
  EXPECT_FALSE(job.ok()) << "parsed: " << text;
  EXPECT_TRUE(job.ok() || job.status().code() == absl::StatusCode::kInvalidArgument);
  return Message(job.status());
}

proto::Job Parsed(std::string_view text) {
  const auto job = ParseJob(text, "test");
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? *job : proto::Job();
}

// ---- ParseJob ----

TEST(ParseJobTest, EmptyTextIsTheDefaultJob) {
  EXPECT_EQ(JobFingerprint(Parsed("")), JobFingerprint(proto::Job()));
  EXPECT_EQ(JobFingerprint(Parsed("# only a comment\n\n")), JobFingerprint(proto::Job()));
}

TEST(ParseJobTest, ReadsEveryKindOfField) {
  const proto::Job job = Parsed(
      "name: 'a' model: lenet seed: 18446744073709551615 drop_last: true\n"
      "optimizer { momentum: 0.5 } straggler < rank: -1 >\n"
      "comparison { strategies: [single, ps_ssp] strategies: local_sgd }");
  EXPECT_EQ(job.name(), "a");
  EXPECT_EQ(job.model(), proto::Model::lenet);
  EXPECT_EQ(job.seed(), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(job.drop_last());
  EXPECT_EQ(job.optimizer().momentum(), 0.5);
  EXPECT_EQ(job.straggler().rank(), -1);
  EXPECT_EQ(job.comparison().strategies_size(), 3);
}

TEST(ParseJobTest, SaysWhereFieldsStand) {
  FieldPositions positions = {{"workers", "from before"}};
  const auto job = ParseJob(
      "name: 'a'\noptimizer {\n  momentum: 0.5 }\n\ncomparison { strategies: [single, ps_ssp] }",
      "my.textproto", positions);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(positions,
              ElementsAre(Pair("comparison", "my.textproto:5:1"),
                          Pair("comparison.strategies", "my.textproto:5:14"),
                          Pair("name", "my.textproto:1:1"), Pair("optimizer", "my.textproto:2:1"),
                          Pair("optimizer.momentum", "my.textproto:3:3")));
}

TEST(ParseJobTest, PutsAPositionBeforeARefusal) {
  const FieldPositions positions = {{"optimizer.momentum", "my.textproto:3:3"}};
  proto::Job job;
  job.mutable_optimizer()->set_momentum(2);
  EXPECT_THAT(Message(AtPosition(ValidateJob(job), positions)),
              StartsWith("my.textproto:3:3: optimizer.momentum is 2; allowed: "));
  EXPECT_THAT(Message(AtPosition(ValidateJob(job), {{"optimizer", "x"}})),
              StartsWith("optimizer.momentum is 2; allowed: "));
  EXPECT_TRUE(AtPosition(absl::OkStatus(), positions).ok());
}

TEST(ParseJobTest, AFixForAFileNamesItsFields) {
  FieldPositions positions;
  const auto refused = [&positions](std::string_view text) {
    const auto job = ParseJob(text, "f", positions);
    EXPECT_TRUE(job.ok()) << job.status();
    return Message(AtPosition(ValidateJob(*job), positions));
  };
  EXPECT_THAT(refused("workers: 3 global_batch: 10"),
              EndsWith("; fix: global_batch: 9 or global_batch: 12"));
  EXPECT_THAT(refused("optimizer { name: nesterov momentum: 0 }"),
              EndsWith("; fix: optimizer { name: sgd }, or optimizer { momentum: 0.9 }"));
  EXPECT_THAT(refused("comparison { tune { lr { trials: 1 } } }"),
              EndsWith("; fix: comparison { tune { lr { trials: 5 } } }"));
  EXPECT_THAT(refused("data { format: cifar10 path: '/usr/share/datasets/fashion-mnist' }"),
              EndsWith("; fix: data { path: \"DIRECTORY\" }"));
  EXPECT_THAT(refused("comparison { strategies: [single, single] }"),
              EndsWith("; fix: leave out one single"));
  // It is the flag's where the flag said it.
  EXPECT_THAT(Message(AtPosition(ValidateJob(*ParseJob("workers: 0", "f")), {})),
              EndsWith("; fix: --workers=1"));
}

struct ParseCase {
  const char* text;
  const char* error;
};

TEST(ParseJobTest, ErrorsNamePlaceFindingAndWhatIsAllowed) {
  const std::vector<ParseCase> cases = {
      {"name: 'a'\n\n  modle: lenet\n",
       "specs/x.textproto:3:3: \"Job\" has no field \"modle\" (did you mean \"model\"?); allowed: "
       "name, model, data, global_batch,"},
      {"optimizer {\n  momentun: 0.5\n}",
       "specs/x.textproto:2:3: \"Optimizer\" has no field \"momentun\" (did you mean "
       "\"momentum\"?); allowed: name, momentum, weight_decay, beta1, beta2, epsilon"},
      {"optimzer { }",
       "specs/x.textproto:1:1: \"Job\" has no field \"optimzer\" (did you mean "
       "\"optimizer\"?); allowed: name,"},
      {"zzzzzzzz: 1", "specs/x.textproto:1:1: \"Job\" has no field \"zzzzzzzz\"; allowed: name,"},
      // Wrong values stand on their own line, whatever follows them.
      {"model: lenets\nworkers: 2",
       "specs/x.textproto:1:8: model: \"lenets\" is not one of its values (did you mean "
       "\"lenet\"?); allowed: mlp, lenet, resnet18"},
      {"model: 9", "specs/x.textproto:1:8: model: \"9\" is not one of its values; allowed: mlp,"},
      {"optimizer { name: 'adam' }", "specs/x.textproto:1:19: optimizer.name: 'adam' is not one"},
      {"drop_last: maybe\n\nsteps: 1",
       "specs/x.textproto:1:12: drop_last: \"maybe\" is not true or false; allowed: true, false"},
      {"workers: many",
       "specs/x.textproto:1:10: workers: \"many\" is not a whole number; allowed: a whole number"},
      {"workers: 2.5", "specs/x.textproto:1:10: workers: \"2.5\" is not a whole number"},
      {"workers: 99999999999",
       "specs/x.textproto:1:10: workers: \"99999999999\" is out of range; allowed: a whole number "
       "from -2147483648 to 2147483647"},
      {"seed: -1",
       "specs/x.textproto:1:7: seed: a negative value is not allowed; allowed: a whole number from "
       "0"},
      {"straggler { rank: -x }",
       "specs/x.textproto:1:20: straggler.rank: \"-x\" is not a whole number; allowed: a whole "
       "number"},
      {"workers: [1]", "specs/x.textproto:1:10: workers: \"[\" is not a whole number"},
      {"workers: 4 4", "specs/x.textproto:1:12: found \"4\" where a field's name should stand"},
      {"optimizer { momentum: abc }",
       "specs/x.textproto:1:23: optimizer.momentum: \"abc\" is not a number; allowed: a decimal "
       "number"},
      {"name: fashion", "specs/x.textproto:1:7: name: \"fashion\" is not text in quotes; allowed:"},
      {"comparison { strategies: [single, ps_sink, local_sgd] }",
       "specs/x.textproto:1:35: comparison.strategies: \"ps_sink\" is not one of its values (did "
       "you mean \"ps_sync\"?); allowed: single, ps_sync, ps_ssp, ps_async, allreduce_ring, "
       "local_sgd"},
      // Shape.
      {"workers: 2\nworkers: 3",
       "specs/x.textproto:2:1: workers: given a second time; allowed: once"},
      {"optimizer { }\noptimizer { }", "specs/x.textproto:2:1: optimizer: given a second time"},
      {"workers 4",
       "specs/x.textproto:1:1: workers: found \"4\" after it; allowed: workers: VALUE"},
      {"workers { }",
       "specs/x.textproto:1:1: workers: found \"{\" after it; allowed: workers: "
       "VALUE with a whole number"},
      {"optimizer: adam",
       "specs/x.textproto:1:1: optimizer: found \"adam\" after it; allowed: "
       "optimizer { ... } with fields name, momentum"},
      {"workers:", "specs/x.textproto:1:1: workers: its value is missing; allowed: a whole number"},
      {"data {\n  train_limit: 5\n",
       "specs/x.textproto:3:1: the file ends inside \"data\", opened at 1:1; allowed: a closing "
       "brace"},
      {"workers: 4\n}", "specs/x.textproto:2:1: found \"}\" where a field's name should stand"},
      {"5: 4",
       "specs/x.textproto:1:1: found \"5\" where a field's name should stand; allowed: name,"},
      {"workers: 4 \xff", "specs/x.textproto:1:12: "},
  };
  for (const ParseCase& one : cases) {
    EXPECT_THAT(ParseError(one.text), StartsWith(one.error)) << one.text;
  }
}

TEST(ParseJobTest, AnOpenQuoteIsNamedWhereItOpens) {
  for (const char* text :
       {"name: 'open\nworkers: 4", "name: 'open\ndata { path: 'x' }", "name: \"open"}) {
    EXPECT_EQ(
        ParseError(text),
        "specs/x.textproto:1:7: the quote that opens here is not closed in its line; allowed: "
        "\"text\"; fix: close it");
  }
}

TEST(ParseJobTest, RefusesWhatIsNoText) {
  EXPECT_EQ(ParseError(std::string_view("ab\0c", 4)),
            "specs/x.textproto: byte 0x00 at offset 2 is not text; allowed: a job as textproto");
  EXPECT_THAT(ParseError("\x7f"
                         "ELF"),
              HasSubstr("byte 0x7f at offset 0"));
  EXPECT_THAT(ParseError(std::string((1 << 20) + 1, '#')),
              AllOf(HasSubstr("1048577 bytes is too large"), HasSubstr("at most 1048576 bytes")));
  EXPECT_TRUE(ParseJob(std::string(1 << 20, '#'), "x").ok());
  EXPECT_EQ(ParseError("\xef\xbb\xbfworkers: 4"),
            "specs/x.textproto:1:1: a UTF-8 byte-order mark stands before the text; allowed: a job "
            "as textproto without one; fix: LC_ALL=C sed -i '1s/^...//' specs/x.textproto");
  EXPECT_THAT(ParseError(std::string(100000, '{')), StartsWith("specs/x.textproto:1:1: found"));
}

TEST(ParseJobTest, EveryPrefixOfAJobIsReadOrRefusedByPlace) {
  const std::string text =
      PrintJob(WithDefaults(proto::Job())) + "comparison { strategies: [single] }";
  for (size_t length = 0; length < text.size(); ++length) {
    const auto job = ParseJob(text.substr(0, length), "cut");
    if (job.ok()) continue;
    EXPECT_THAT(Message(job.status()), StartsWith("cut:"));
  }
}

// ---- defaults, printing, identity ----

TEST(WithDefaultsTest, WritesOutEveryFieldThatHasADefault) {
  const proto::Job full = WithDefaults(proto::Job());
  EXPECT_EQ(ValidateJob(full), absl::OkStatus());
  EXPECT_TRUE(full.has_name());
  EXPECT_EQ(full.data().path(), "/usr/share/datasets/fashion-mnist");
  EXPECT_TRUE(full.data().has_path());
  EXPECT_TRUE(full.optimizer().has_epsilon());
  EXPECT_EQ(full.optimizer().epsilon(), 1e-8);
  EXPECT_TRUE(full.comparison().has_repetitions());
  EXPECT_FALSE(full.learning_rate().has_warmup_steps());
  EXPECT_TRUE(full.learning_rate().has_warmup_fraction());
  EXPECT_EQ(full.allreduce().algorithm(), proto::AllReduce::ring);
}

TEST(WithDefaultsTest, ImpliedFields) {
  const proto::Job deterministic = WithDefaults(Parsed("deterministic: true"));
  EXPECT_EQ(deterministic.allreduce().algorithm(), proto::AllReduce::direct);
  EXPECT_EQ(ValidateJob(deterministic), absl::OkStatus());
  const proto::Job counted = WithDefaults(Parsed("learning_rate { warmup_steps: 7 }"));
  EXPECT_EQ(counted.learning_rate().warmup_steps(), 7);
  EXPECT_FALSE(counted.learning_rate().has_warmup_fraction());
}

TEST(PrintJobTest, IsReadBack) {
  proto::Job job = Parsed("comparison { strategies: [single, local_sgd] }");
  job.set_name("K\xc3\xb6nig \"quoted\"");
  job.mutable_optimizer()->set_momentum(0.1 + 0.2);
  job.set_seed(std::numeric_limits<uint64_t>::max());
  for (const proto::Job& one : {job, WithDefaults(job)}) {
    EXPECT_EQ(Parsed(PrintJob(one)).SerializeAsString(), one.SerializeAsString());
  }
  EXPECT_EQ(PrintJob(proto::Job()), "");
}

TEST(JobFingerprintTest, IsThatOfWhatIsTrained) {
  const uint64_t fingerprint = JobFingerprint(proto::Job());
  EXPECT_EQ(JobFingerprint(WithDefaults(proto::Job())), fingerprint);
  EXPECT_EQ(JobFingerprint(Parsed("name: 'b' comparison { repetitions: 9 }")), fingerprint);
  EXPECT_EQ(JobFingerprint(Parsed("workers: 4 optimizer { momentum: 0.9 }")), fingerprint);
  EXPECT_EQ(JobFingerprint(Parsed("learning_rate { warmup_steps: 5 warmup_fraction: 0.3 }")),
            JobFingerprint(Parsed("learning_rate { warmup_steps: 5 }")));
  EXPECT_EQ(JobFingerprint(Parsed("deterministic: true")),
            JobFingerprint(Parsed("deterministic: true allreduce { algorithm: direct }")));
  std::set<uint64_t> seen = {fingerprint};
  for (const char* text :
       {"workers: 2", "seed: 2", "strategy: single", "optimizer { momentum: 0.8 }", "servers: 1",
        "deterministic: true", "learning_rate { warmup_steps: 0 }", "deadlines { loss_s: 5 }"}) {
    EXPECT_TRUE(seen.insert(JobFingerprint(Parsed(text))).second) << text;
  }
}

TEST(JobFingerprintTest, UnknownFieldsDoNotCount) {
  proto::Job job;
  job.mutable_optimizer()->mutable_unknown_fields()->AddVarint(999, 1);
  EXPECT_EQ(JobFingerprint(job), JobFingerprint(proto::Job()));
}

TEST(StrategyTest, NamesAndWhatEachUses) {
  struct Use {
    const char* text;
    const char* name;
    bool servers;
    bool collectives;
    int worker_processes;
  };
  const std::vector<Use> uses = {
      {"strategy: single", "single", false, false, 1},
      {"", "ps_sync", true, false, 4},
      {"strategy: ps_ssp", "ps_ssp", true, false, 4},
      {"strategy: ps_async", "ps_async", true, false, 4},
      {"strategy: allreduce_ring", "allreduce_ring", false, true, 4},
      {"strategy: allreduce_ring workers: 1", "allreduce_ring", false, true, 1},
      {"strategy: local_sgd", "local_sgd", false, true, 4},
      {"strategy: local_sgd local_sgd { through: servers }", "local_sgd", true, false, 4},
  };
  for (const Use& use : uses) {
    const proto::Job job = Parsed(use.text);
    EXPECT_EQ(StrategyName(job.strategy()), use.name);
    EXPECT_EQ(UsesServers(job), use.servers) << use.text;
    EXPECT_EQ(UsesCollectives(job), use.collectives) << use.text;
    EXPECT_EQ(WorkerProcesses(job), use.worker_processes) << use.text;
  }
}

// ---- MakeStepPlan ----

TEST(MakeStepPlanTest, TheDefaultJobOnFashionMnist) {
  const auto plan = MakeStepPlan(proto::Job(), 60000);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->samples_per_rank, 15000);
  EXPECT_EQ(plan->local_batch, 128);
  EXPECT_EQ(plan->steps_per_epoch, 118);  // 117 full ones and one of 24
  EXPECT_EQ(plan->total_steps, 708);
}

TEST(MakeStepPlanTest, SingleHasThePlanOfItsWorkers) {
  const auto single = MakeStepPlan(Parsed("strategy: single"), 60000);
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(single->local_batch, 128);
  EXPECT_EQ(single->total_steps, 708);
}

TEST(MakeStepPlanTest, CountsUpWithoutAndDownWithDropLast) {
  const char* common = "workers: 3 global_batch: 30 measure { warmup_steps: 0 } epochs: 2 ";
  // 100 samples: 34 a rank padded, 33 dropped; 10 a step.
  auto plan = MakeStepPlan(Parsed(common), 100);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->samples_per_rank, 34);
  EXPECT_EQ(plan->steps_per_epoch, 4);
  EXPECT_EQ(plan->total_steps, 8);
  plan = MakeStepPlan(Parsed(std::string(common) + "drop_last: true"), 100);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->samples_per_rank, 33);
  EXPECT_EQ(plan->steps_per_epoch, 3);
  EXPECT_EQ(plan->total_steps, 6);
}

TEST(MakeStepPlanTest, StepsAreTakenAsGivenAndTheLimitCounts) {
  const auto plan = MakeStepPlan(Parsed("steps: 50 epochs: 0 data { train_limit: 512 }"), 60000);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->steps_per_epoch, 1);
  EXPECT_EQ(plan->total_steps, 50);
}

TEST(MakeStepPlanTest, OneSampleIsEnoughWithoutDropLast) {
  const auto plan = MakeStepPlan(Parsed("measure { warmup_steps: 0 }"), 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->samples_per_rank, 1);
  EXPECT_EQ(plan->total_steps, 6);
}

TEST(MakeStepPlanTest, Refusals) {
  const auto error = [](std::string_view text, int64_t samples) {
    const auto plan = MakeStepPlan(Parsed(text), samples);
    EXPECT_FALSE(plan.ok()) << text;
    return Message(plan.status());
  };
  EXPECT_THAT(error("", 0),
              HasSubstr("with 0 training samples; allowed: a data set of at least 1"));
  EXPECT_THAT(error("", -1), HasSubstr("with -1 training samples"));
  EXPECT_THAT(error("drop_last: true", 511),
              StartsWith("global_batch is 512, which 511 training samples do not fill once"));
  EXPECT_THAT(error("drop_last: true", 2), StartsWith("global_batch is 512, which 2 training"));
  EXPECT_THAT(error("workers: 0", 60000), StartsWith("workers is 0"));
  // 12 steps: the default leaves 20 out of the measurement.
  EXPECT_EQ(error("epochs: 1", 6000),
            "measure.warmup_steps is 20 (the default); allowed: 0 to 11, so that some of the "
            "training's 12 steps are measured; fix: --measure.warmup_steps=1");
  EXPECT_THAT(
      error("epochs: 1 measure { warmup_steps: 1 } learning_rate { warmup_steps: 13 }", 6000),
      StartsWith("learning_rate.warmup_steps is 13; allowed: 0 to the training's 12"));
  EXPECT_THAT(
      error("epochs: 1000000 workers: 1 global_batch: 1", std::numeric_limits<int64_t>::max()),
      HasSubstr("allowed: at most 1000000000 steps in all"));
}

}  // namespace
}  // namespace crossover
