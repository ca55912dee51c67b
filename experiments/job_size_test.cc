#include "experiments/job_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "experiments/launch/signal_waiter.h"
#include "os/files.h"
#include "worker/data/test_files.h"

namespace crossover::experiments {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Data files of 8 training and 2 test images, and a script in the worker's place.
class JobSizeTest : public testing::Test {
 protected:
  JobSizeTest() : directory_(worker::MakeTestDirectory()) {
    Write("train-images-idx3-ubyte.gz", worker::Gzip(worker::IdxImages(8, 2, 3)));
    Write("train-labels-idx1-ubyte", worker::IdxLabels({0, 1, 2, 0, 1, 2, 0, 1}));
    Write("t10k-images-idx3-ubyte", worker::IdxImages(2, 2, 3));
    Write("t10k-labels-idx1-ubyte", worker::IdxLabels({0, 2}));
    job_.mutable_data()->set_path(directory_);
    job_.set_global_batch(4);
    job_.set_workers(2);
    job_.mutable_measure()->set_warmup_steps(1);
    WorkerDoes("echo 1234");
  }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  void Write(const std::string& name, const std::string& content) {
    worker::WriteTestFile(Path(name), content);
  }
  // The script also leaves a mark that it was started.
  void WorkerDoes(const std::string& script) {
    Write("worker", "#!/bin/sh\ntouch " + Path("started") + "\n" + script + "\n");
    ASSERT_EQ(chmod(Path("worker").c_str(), 0755), 0);
  }
  bool Started() const { return std::filesystem::exists(Path("started")); }
  std::string Error() {
    return std::string(SizeOfJob(job_, Path("worker"), signals_).status().message());
  }

  SignalWaiter signals_;
  const std::string directory_;
  proto::Job job_;
};

TEST_F(JobSizeTest, ASignalTakesTheWorkerDown) {
  WorkerDoes("echo $$ >" + Path("pid") + "; kill -TERM $PPID; exec sleep 1000");
  const absl::Status status = SizeOfJob(job_, Path("worker"), signals_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "interrupted (SIGTERM) before the first run");
  EXPECT_EQ(signals_.ended_by(), SIGTERM);
  const pid_t worker = std::stoi(os::ReadFile(Path("pid")).value());
  EXPECT_EQ(kill(worker, 0), -1);
}

TEST_F(JobSizeTest, CountsParametersBytesAndSteps) {
  const auto size = SizeOfJob(job_, Path("worker"), signals_);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(size->parameters, 1234);
  EXPECT_EQ(size->data_bytes, 10 * 7);
  EXPECT_EQ(size->plan.steps_per_epoch, 2);
}

TEST_F(JobSizeTest, DamagedDataIsRefusedBeforeAnythingStarts) {
  std::string images = worker::Gzip(worker::IdxImages(8, 2, 3));
  images[images.size() - 6] ^= 1;  // in the checksum
  Write("train-images-idx3-ubyte.gz", images);
  EXPECT_THAT(Error(), AllOf(HasSubstr("train-images-idx3-ubyte.gz: damaged gzip at byte 64"),
                             HasSubstr("incorrect data check")));
  Write("train-images-idx3-ubyte.gz", images.substr(0, images.size() - 9));
  EXPECT_THAT(Error(), HasSubstr("train-images-idx3-ubyte.gz: damaged gzip at byte"));
  Write("train-images-idx3-ubyte.gz", worker::Gzip(worker::IdxImages(8, 2, 3)));
  Write("train-labels-idx1-ubyte", worker::IdxLabels({0, 1, 2, 0, 200, 2, 0, 1}));
  EXPECT_THAT(Error(), HasSubstr("train-labels-idx1-ubyte: byte 12: label 200"));
  EXPECT_FALSE(Started());
}

TEST_F(JobSizeTest, AnEmulatedJobNeedsNeitherDataNorTheWorker) {
  job_.set_model(proto::Model::emulated);
  job_.set_steps(30);
  job_.set_epochs(0);
  job_.mutable_data()->set_path(Path("nowhere"));
  job_.mutable_emulated()->add_layers()->set_gradient_bytes(800);
  job_.mutable_emulated()->set_bytes_scale(2);
  const auto size = SizeOfJob(job_, Path("worker"), signals_);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(size->parameters, 100);
  EXPECT_EQ(size->plan.total_steps, 30);
  EXPECT_EQ(size->plan.local_batch, 2);
  EXPECT_FALSE(Started());
}

TEST_F(JobSizeTest, PassesOnWhatTheWorkerSays) {
  WorkerDoes("echo 'worker: lenet needs larger images' >&2; exit 1");
  EXPECT_EQ(Error(), Path("worker") + " --describe: worker: lenet needs larger images");
  EXPECT_TRUE(Started());
  // A warning of a worker that succeeds is no part of its answer.
  WorkerDoes("echo 'some warning' >&2; echo 7");
  EXPECT_EQ(SizeOfJob(job_, Path("worker"), signals_)->parameters, 7);
  WorkerDoes("echo about 7");
  EXPECT_EQ(Error(), Path("worker") +
                         " --describe printed \"about 7\"; expected the model's number of "
                         "parameters");
}

}  // namespace
}  // namespace crossover::experiments
