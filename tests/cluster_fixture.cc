#include "tests/cluster_fixture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/job.h"
#include "core/status.h"
#include "os/files.h"

namespace crossover::tests {
namespace {

constexpr int kSide = 28;
constexpr int kClasses = 10;

void AppendBigEndian(std::string& text, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
}

// A class is a bright block at a place of its own, under noise.
void WriteSplit(const std::string& directory, const std::string& stem, int samples,
                std::mt19937& random) {
  std::string images;
  std::string labels;
  AppendBigEndian(images, 0x803);
  AppendBigEndian(images, static_cast<uint32_t>(samples));
  AppendBigEndian(images, kSide);
  AppendBigEndian(images, kSide);
  AppendBigEndian(labels, 0x801);
  AppendBigEndian(labels, static_cast<uint32_t>(samples));
  for (int i = 0; i < samples; ++i) {
    const int label = static_cast<int>(random() % kClasses);
    labels.push_back(static_cast<char>(label));
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const bool bright = y / 6 == label / 3 && x / 9 == label % 3;
        images.push_back(static_cast<char>(random() % 100 + (bright ? 100 : 0)));
      }
    }
  }
  ASSERT_TRUE(os::WriteFile(absl::StrCat(directory, "/", stem, "-images-idx3-ubyte"), images).ok());
  ASSERT_TRUE(os::WriteFile(absl::StrCat(directory, "/", stem, "-labels-idx1-ubyte"), labels).ok());
}

std::vector<float> ReadParameters(const std::string& path) {
  const auto bytes = os::ReadFile(path);
  if (!bytes.ok()) return {};
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

std::string MakeSmallData(int train) {
  const std::string directory = absl::StrCat(testing::TempDir(), "/data-", train);
  if (std::filesystem::exists(directory)) return directory;
  EXPECT_TRUE(os::MakeDirectory(directory).ok());
  std::mt19937 random(20260101);
  WriteSplit(directory, "train", train, random);
  WriteSplit(directory, "t10k", 200, random);
  return directory;
}

proto::Job SmallJob(const std::string& data_path) {
  proto::Job job;
  job.set_name("test");
  job.mutable_data()->set_path(data_path);
  job.set_global_batch(48);
  job.set_steps(50);
  job.set_epochs(0);
  job.mutable_optimizer()->set_name(proto::OptimizerKind::sgd);
  job.mutable_learning_rate()->set_base(0.05);
  job.mutable_learning_rate()->set_warmup_fraction(0);
  job.mutable_learning_rate()->set_decay(proto::LearningRate::constant);
  job.mutable_local_sgd()->set_first_phase_steps(0);
  job.mutable_measure()->set_warmup_steps(5);
  job.mutable_deadlines()->set_join_s(30);
  return job;
}

absl::StatusOr<Outcome> RunJob(const proto::Job& job, const std::string& name) {
  return RunJobWith(job, name, [](experiments::ClusterOptions&) {});
}

absl::StatusOr<Outcome> RunJobWith(
    const proto::Job& job, const std::string& name,
    const std::function<void(experiments::ClusterOptions&)>& adjust) {
  RETURN_IF_ERROR(ValidateJob(job));
  experiments::ClusterOptions options;
  options.job = WithDefaults(job);
  options.directory = absl::StrCat(testing::TempDir(), "/", name);
  options.worker_binary = kWorkerBinary;
  options.server_binary = kServerBinary;
  options.save_parameters = true;
  adjust(options);
  RETURN_IF_ERROR(os::MakeDirectory(options.directory));
  experiments::SignalWaiter signals;
  const SystemClock clock;
  Outcome outcome;
  ASSIGN_OR_RETURN(outcome.reports, experiments::RunCluster(options, signals, clock));
  for (int rank = 0; rank < WorkerProcesses(job); ++rank) {
    outcome.parameters.push_back(
        ReadParameters(absl::StrCat(options.directory, "/parameters-", rank, ".f32")));
  }
  return outcome;
}

bool IsRunning(int pid) {
  std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  if (!std::getline(stat, text)) return false;
  // The state follows the name, which stands in parentheses.
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] != 'Z';
}

}  // namespace crossover::tests
