#include "process/membership_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace crossover::process {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A run of two workers, whose rank 0 is the meeting point.
class MembershipSessionTest : public testing::Test {
 protected:
  static MembershipSession::Options OptionsOf(int rank, const std::string& rendezvous) {
    MembershipSession::Options options;
    options.identity = {.job_fingerprint = 42,
                        .token = "0123456789abcdef0123456789abcdef",
                        .role = net::Role::kWorker,
                        .rank = rank};
    options.rendezvous_address = rendezvous;
    options.hosts_rendezvous = rank == 0;
    options.workers = 2;
    options.join_s = 60;
    options.loss_s = 60;
    return options;
  }

  using Work = std::function<absl::Status(MembershipSession&)>;
  // Rank 0 on a thread of its own; its address is known once this returns.
  std::future<absl::Status> RunFirst(MembershipSession& session, Work work) {
    std::promise<std::string> promise;
    std::future<std::string> listens = promise.get_future();
    std::future<absl::Status> ended =
        std::async(std::launch::async, [&session, work, promise = std::move(promise)]() mutable {
          return session.Run(
              [&]() -> absl::StatusOr<std::string> {
                promise.set_value(session.rendezvous_address());
                return "127.0.0.1:4000";
              },
              [&] { return work(session); });
        });
    rendezvous_ = listens.get();
    return ended;
  }
  static absl::Status RunSecond(MembershipSession& session, const Work& work) {
    return session.Run([]() -> absl::StatusOr<std::string> { return "127.0.0.1:4001"; },
                       [&] { return work(session); });
  }

  // Work that lasts until the run is over.
  static absl::Status WaitForAbort(MembershipSession& session) {
    std::promise<void> aborted;
    return session.WithAbort([&](const absl::Status&) { aborted.set_value(); },
                             [&]() -> absl::Status {
                               EXPECT_EQ(aborted.get_future().wait_for(std::chrono::seconds(60)),
                                         std::future_status::ready);
                               return absl::CancelledError("the work was ended");
                             });
  }

  const SystemClock clock_;
  std::string rendezvous_;
};

TEST_F(MembershipSessionTest, AllMeetWorkAndLeave) {
  MembershipSession first(OptionsOf(0, "127.0.0.1:0"), clock_);
  const Work work = [](MembershipSession& session) {
    EXPECT_EQ(session.member().roster().workers[1].data_address, "127.0.0.1:4001");
    return session.WithAbort([](const absl::Status& why) { ADD_FAILURE() << why; },
                             [&] { return session.member().Barrier("work", 60); });
  };
  std::future<absl::Status> first_ended = RunFirst(first, work);
  MembershipSession second(OptionsOf(1, rendezvous_), clock_);
  EXPECT_EQ(RunSecond(second, work), absl::OkStatus());
  EXPECT_EQ(first_ended.get(), absl::OkStatus());
  EXPECT_EQ(first.aborted(), absl::OkStatus());
}

TEST_F(MembershipSessionTest, AFailureEndsTheWorkOfAllWithItsCause) {
  MembershipSession first(OptionsOf(0, "127.0.0.1:0"), clock_);
  std::future<absl::Status> first_ended = RunFirst(first, WaitForAbort);
  MembershipSession::Options options = OptionsOf(1, rendezvous_);
  std::promise<std::string> aborted;
  options.on_abort = [&](const absl::Status& why) { aborted.set_value(why.ToString()); };
  MembershipSession second(options, clock_);
  const absl::Status second_said =
      RunSecond(second, [](MembershipSession&) { return absl::InternalError("out of luck"); });
  const absl::Status first_said = first_ended.get();
  for (const absl::Status& said : {first_said, second_said}) {
    EXPECT_THAT(std::string(said.message()),
                AllOf(HasSubstr("worker 1 at 127.0.0.1:4001"), HasSubstr("out of luck")));
  }
  EXPECT_THAT(aborted.get_future().get(), HasSubstr("out of luck"));
  EXPECT_EQ(first.aborted(), first_said);
}

// Its peer's end is what this one sees first; the rendezvous knows why.
TEST_F(MembershipSessionTest, WhoLosesAPeerHearsOfTheCause) {
  MembershipSession first(OptionsOf(0, "127.0.0.1:0"), clock_);
  std::future<absl::Status> first_ended = RunFirst(first, [](MembershipSession& session) {
    EXPECT_EQ(session.member().Barrier("both work", 60), absl::OkStatus());
    return absl::UnavailableError("lost the connection to rank 1");
  });
  MembershipSession second(OptionsOf(1, rendezvous_), clock_);
  RunSecond(second, [](MembershipSession& session) -> absl::Status {
    EXPECT_EQ(session.member().Barrier("both work", 60), absl::OkStatus());
    SystemClock().SleepNs(200'000'000);
    return absl::InternalError("out of luck");
  }).IgnoreError();
  EXPECT_THAT(std::string(first_ended.get().message()),
              AllOf(HasSubstr("worker 1 at 127.0.0.1:4001"), HasSubstr("out of luck")));
}

TEST_F(MembershipSessionTest, StopEndsItForAllOnceItHasJoined) {
  MembershipSession first(OptionsOf(0, "127.0.0.1:0"), clock_);
  EXPECT_FALSE(first.Stop(absl::CancelledError("too early")));
  std::future<absl::Status> first_ended = RunFirst(first, [](MembershipSession& session) {
    EXPECT_EQ(session.member().Barrier("both work", 60), absl::OkStatus());
    return WaitForAbort(session);
  });
  MembershipSession second(OptionsOf(1, rendezvous_), clock_);
  const absl::Status second_said = RunSecond(second, [&](MembershipSession& session) {
    EXPECT_EQ(session.member().Barrier("both work", 60), absl::OkStatus());
    EXPECT_TRUE(first.Stop(absl::CancelledError("told to stop by signal 15")));
    return WaitForAbort(session);
  });
  for (const absl::Status& said : {first_ended.get(), second_said}) {
    EXPECT_THAT(std::string(said.message()), HasSubstr("told to stop by signal 15"));
  }
  bool worked = false;
  EXPECT_FALSE(
      first.WithAbort([](const absl::Status&) {}, [&] { return worked = true, absl::OkStatus(); })
          .ok());
  EXPECT_FALSE(worked);
}

TEST_F(MembershipSessionTest, ARunOfAnotherSizeIsRefused) {
  MembershipSession first(OptionsOf(0, "127.0.0.1:0"), clock_);
  std::future<absl::Status> first_ended = RunFirst(first, WaitForAbort);
  MembershipSession::Options options = OptionsOf(1, rendezvous_);
  options.servers = 1;
  MembershipSession second(options, clock_);
  const absl::Status said = RunSecond(second, [](MembershipSession&) {
    ADD_FAILURE() << "worked";
    return absl::OkStatus();
  });
  EXPECT_THAT(
      std::string(said.message()),
      HasSubstr("the rendezvous's run has 2 workers and 0 servers, this process's 2 and 1"));
  EXPECT_FALSE(first_ended.get().ok());
}

TEST_F(MembershipSessionTest, WithoutAPlaceToListenItDoesNotJoin) {
  MembershipSession alone(OptionsOf(1, "127.0.0.1:1"), clock_);
  const absl::Status said = alone.Run(
      []() -> absl::StatusOr<std::string> { return absl::UnavailableError("port 4001 is taken"); },
      [] { return absl::OkStatus(); });
  EXPECT_EQ(said.message(), "port 4001 is taken");
}

}  // namespace
}  // namespace crossover::process
