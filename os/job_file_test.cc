#include "os/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "os/files.h"

namespace crossover::os {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

class JobFileTest : public testing::Test {
 protected:
  absl::StatusOr<proto::Job> Read(const std::string& text,
                                  std::vector<std::pair<std::string, std::string>> flags = {}) {
    EXPECT_TRUE(WriteFile(path_, text).ok());
    ParsedFlags parsed;
    parsed.job_overrides = std::move(flags);
    return ReadJob(path_, parsed, positions_);
  }
  std::string Error(const std::string& text,
                    std::vector<std::pair<std::string, std::string>> flags = {}) {
    return std::string(Read(text, std::move(flags)).status().message());
  }

  const std::string path_ = testing::TempDir() + "/job.textproto";
  FieldPositions positions_;
};

TEST_F(JobFileTest, WithoutAFileTheJobIsTheDefaultOne) {
  const auto job = ReadJob("", ParsedFlags());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->workers(), 4);
  EXPECT_TRUE(job->has_workers());
}

TEST_F(JobFileTest, AWrongValueIsRefusedWithItsLine) {
  EXPECT_THAT(Error("# mine\nname: 'x'\noptimizer {\n  momentum: 1.5\n}\n"),
              StartsWith(path_ + ":4:3: optimizer.momentum is 1.5; allowed: "));
  EXPECT_THAT(Error("workers: 3 global_batch: 10"),
              StartsWith(path_ + ":1:12: global_batch is 10; allowed: "));
  EXPECT_THAT(Error("workers: 3 global_batch: 10"), HasSubstr("; fix: global_batch: 9 or "));
  EXPECT_THAT(Error("comparison { strategies: [single, single] }"),
              StartsWith(path_ + ":1:14: comparison.strategies is a list with single twice"));
}

TEST_F(JobFileTest, AFieldThatTheFileDoesNotSetHasNoLine) {
  EXPECT_THAT(Error("workers: 3"), StartsWith("global_batch is 512 (the default); allowed: "));
  // A flag's value is no line's fault.
  EXPECT_THAT(
      Error("global_batch: 512", {{"global_batch", "6"}}),
      AllOf(StartsWith("global_batch is 6; allowed: "), HasSubstr("; fix: --global_batch=")));
}

TEST_F(JobFileTest, TellsWhichFieldsAreTheFiles) {
  ASSERT_TRUE(Read("workers: 2\nservers: 1\n", {{"servers", "2"}}).ok());
  EXPECT_THAT(positions_, ElementsAre(Pair("workers", path_ + ":1:1")));
}

TEST_F(JobFileTest, AFlagForStepsReplacesTheFilesEpochs) {
  const auto job = Read("epochs: 3", {{"steps", "100"}});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->steps(), 100);
  EXPECT_EQ(job->epochs(), 0);
  EXPECT_THAT(Error("epochs: 3 steps: 5"), HasSubstr("exactly one of the two above 0"));
}

TEST_F(JobFileTest, AnEmulatedJobGetsItsProfilesLayers) {
  const auto job = Read("model: emulated steps: 30 epochs: 0");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->emulated().layers_size(), 54);
  EXPECT_EQ(job->emulated().batch(), 256);
  // Written out, it is complete: read again it needs no profile.
  const auto again = Read(PrintJob(*job));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(JobFingerprint(*again), JobFingerprint(*job));
  const auto other = Read(PrintJob(*job), {{"emulated.profile", "vgg16"}});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->emulated().layers_size(), 16);
}

TEST_F(JobFileTest, LayersOfTheJobItselfAreKept) {
  const auto job = Read(
      "model: emulated steps: 30 epochs: 0 "
      "emulated { profile: 'mine' layers { name: 'fc' gradient_bytes: 8 } }");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->emulated().layers_size(), 1);
  EXPECT_EQ(job->emulated().profile(), "mine");
  const auto nameless = Read(
      "model: emulated steps: 30 epochs: 0 "
      "emulated { layers { name: 'fc' gradient_bytes: 8 } }");
  ASSERT_TRUE(nameless.ok()) << nameless.status();
  EXPECT_EQ(nameless->emulated().layers_size(), 1);
  EXPECT_EQ(nameless->emulated().profile(), "");
  const auto again = Read(PrintJob(*nameless));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(JobFingerprint(*again), JobFingerprint(*nameless));
}

TEST_F(JobFileTest, MistakesOfEmulatedJobsHaveTheFilesLine) {
  EXPECT_THAT(Error("model: emulated steps: 30 epochs: 0\nemulated { profile: 'resnet5' }"),
              StartsWith(path_ + ":2:12: emulated.profile is \"resnet5\"; allowed: bert_large, "));
  EXPECT_THAT(Error("model: emulated steps: 30 epochs: 0\nemulated {\n"
                    "  layers { gradient_bytes: 8 }\n  layers { gradient_bytes: 7 } }"),
              StartsWith(path_ + ":4:3: emulated.layers[1] is "));
  EXPECT_THAT(Error("model: emulated"), StartsWith("epochs is 6 (the default); allowed: 0"));
}

constexpr char kFit[] =
    "{\"network\":\"1gbit\",\"transport\":\"tcp\",\"alpha_us\":7,\"message_us\":2,"
    "\"beta_us_per_byte\":8e-3,\"gamma_us_per_byte\":0,\"points\":32,\"error_median\":null}\n";

TEST_F(JobFileTest, AFitsConstantsBecomePartOfTheJob) {
  const std::string fit = testing::TempDir() + "/fit.jsonl";
  ASSERT_TRUE(WriteFile(fit, kFit).ok());
  const std::string text = "allreduce { algorithm: automatic }";
  const auto job = Read(text, {{"allreduce.fit", fit}});
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_EQ(job->allreduce().costs_size(), 1);
  EXPECT_EQ(job->allreduce().costs(0).alpha_us(), 7);
  EXPECT_EQ(job->allreduce().costs(0).network(), "1gbit");
  EXPECT_NE(JobFingerprint(*job), JobFingerprint(*Read(text)));
  // Read again it needs no file, and says the same.
  ASSERT_TRUE(WriteFile(fit, "gone").ok());
  const auto again = Read(PrintJob(*job));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(JobFingerprint(*again), JobFingerprint(*job));
  // A flag takes the place of the file's.
  EXPECT_THAT(Error(PrintJob(*job), {{"allreduce.fit", fit}}), StartsWith(fit + ":1: "));
  const auto none = Read(PrintJob(*job), {{"allreduce.fit", ""}});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->allreduce().costs_size(), 0);
}

TEST_F(JobFileTest, AFitThatIsNoneIsRefused) {
  EXPECT_THAT(Error("allreduce { fit: 'no/such' }"),
              StartsWith(path_ + ":1:13: allreduce.fit is a file: cannot read no/such"));
  const std::string fit = testing::TempDir() + "/fit.jsonl";
  ASSERT_TRUE(WriteFile(fit, kFit).ok());
  EXPECT_THAT(Error("allreduce {\n  transport: grpc algorithm: automatic\n  fit: '" + fit + "' }"),
              AllOf(StartsWith(path_ + ":3:3: allreduce.fit is \""),
                    HasSubstr("whose constants are of tcp; allowed: a fit of grpc")));
}

TEST_F(JobFileTest, WhatIsNoFileIsRefused) {
  EXPECT_THAT(std::string(ReadJob("/dev/zero", ParsedFlags()).status().message()),
              StartsWith("cannot read /dev/zero: it is a device"));
  EXPECT_THAT(Error("allreduce { fit: '/dev/zero' }"), HasSubstr("cannot read /dev/zero: it is a"));
  EXPECT_THAT(Error("model: emulated steps: 30 epochs: 0 emulated { profile: '/dev/zero' }"),
              HasSubstr("emulated.profile is a file: cannot read /dev/zero: it is a"));
  EXPECT_THAT(Error(std::string(kSettingsBytesMax + 1, ' ')),
              HasSubstr("it is larger than 1048576 bytes"));
}

TEST_F(JobFileTest, OtherJobsHaveNoLayers) {
  const auto job = Read("workers: 2");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->emulated().layers_size(), 0);
}

}  // namespace
}  // namespace crossover::os
