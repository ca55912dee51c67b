// What a client makes of a server that breaks the rules.
#include "ps/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "core/bucket_plan.h"
#include "core/clock.h"
#include "core/gradient_norm.h"
#include "core/status.h"
#include "core/timeline.h"
#include "net/tcp_relay.h"
#include "ps/frame_buffer.h"
#include "ps/stream_service.h"
#include "ps/stream_to_worker.h"
#include "ps/wire.h"

namespace crossover::ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Answers the plan with an ack and everything else as it is told.
class FakeServer final : public StreamHandler {
 public:
  using Answer = std::function<absl::Status(StreamToWorker& stream, const FrameHeader& header)>;
  explicit FakeServer(Answer answer) : answer_(std::move(answer)) {
    auto service = StreamService::Start("127.0.0.1:0", "", false, 1000, *this);
    EXPECT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  const std::string& address() const { return service_->address(); }

  absl::StatusOr<int> OnCall(const grpc::GenericServerContext&,
                             const std::shared_ptr<StreamToWorker>& stream) override {
    stream_ = stream;
    return 0;
  }
  void OnMessage(int, const grpc::ByteBuffer& message) override {
    stream_->Handled(Answered(message));
  }
  void OnClosed(int) override {}
  void OnDone(int) override { stream_.reset(); }

 private:
  absl::Status Answered(const grpc::ByteBuffer& message) {
    const auto header = DecodeHeader(ReceivedMessage(message).bytes());
    if (!header.ok()) return header.status();
    if (header->kind != FrameKind::kPlan) return answer_(*stream_, *header);
    return stream_->Send(MakeMessage({.kind = FrameKind::kAck}), 1);
  }

  const Answer answer_;
  std::shared_ptr<StreamToWorker> stream_;  // the loop's thread's
  std::unique_ptr<StreamService> service_;
};

BucketPlan OneBucket(int64_t length) {
  BucketPlan buckets;
  buckets.buckets = {{.id = 0, .offset = 0, .length = length}};
  return buckets;
}

// One bucket of 6 values in parts 0 (4 values) and 1 (2 values).
class ClientOfFake : public ::testing::Test {
 protected:
  std::unique_ptr<Client> Connect(const FakeServer& server) {
    Client::Options options;
    options.servers = {server.address()};
    options.part_bytes = 16;
    options.total_steps = 5;
    auto client = Client::Connect(options, OneBucket(6), timeline_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  absl::Status Step(Client& client, int64_t step) {
    client.BeginStep(step, parameters_, parameters_);
    client.PushBucket(0);
    return client.Wait();
  }

  SystemClock clock_;
  Timeline timeline_{clock_};
  std::vector<float> parameters_ = std::vector<float>(6, 1);
};

grpc::ByteBuffer Reply(const FrameHeader& header, const std::vector<float>& values) {
  return MakeMessage(header, grpc::Slice(values.data(), 4 * values.size()));
}

// An answer to the pull or push of part 0; part 1 stays unanswered.
TEST_F(ClientOfFake, RefusesFramesThatNobodyAskedFor) {
  struct Case {
    grpc::ByteBuffer answer;
    const char* error;
  };
  const grpc::Slice junk("junk");
  const Case cases[] = {
      {grpc::ByteBuffer(&junk, 1), "frame of 4 bytes"},
      {MakeMessage({.kind = FrameKind::kAck}), "an ack that nothing asked for"},
      {MakeMessage({.kind = FrameKind::kAck, .part = 0}),
       "an ack for part 0 that nothing asked for"},
      {MakeMessage({.kind = FrameKind::kPull, .part = 0}), "a worker's pull frame"},
      {Reply({.kind = FrameKind::kReply, .part = 2, .step = 0, .version = 1}, {1, 2}),
       "part 2; there are 2"},
      {Reply({.kind = FrameKind::kReply, .part = 1, .step = 0, .version = 1}, {1, 2, 3}),
       "part 1 has 8 bytes; 12 came"},
      {Reply({.kind = FrameKind::kReply, .part = 1, .step = 1, .version = 1}, {1, 2}),
       "reply for part 1 and step 1 that nothing asked for"},
      {Reply({.kind = FrameKind::kReply, .part = 1, .step = -1, .version = 1}, {1, 2}),
       "reply for part 1 and step -1"},
      {MakeMessage({.kind = FrameKind::kSquares, .part = 0, .step = 1},
                   grpc::Slice(std::string(SquareSum::kBytes, '\0'))),
       "squares for part 0 and step 1 that nothing asked for"},
  };
  for (const Case& wrong : cases) {
    FakeServer server([&](StreamToWorker& stream, const FrameHeader& header) {
      // Once part 1 has been asked for too, so that either part may be wrong.
      return header.part == 1 ? stream.Send(wrong.answer, 1) : absl::OkStatus();
    });
    auto client = Connect(server);
    const absl::Status status = Step(*client, 0);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("server 0 at " + server.address() + ", in step 0: "),
                      HasSubstr(wrong.error)));
    EXPECT_EQ(parameters_, std::vector<float>(6, 1));
  }
}

TEST_F(ClientOfFake, RefusesASecondReply) {
  FakeServer server([&](StreamToWorker& stream, const FrameHeader& header) {
    if (header.part != 0) return absl::OkStatus();
    const grpc::ByteBuffer reply =
        Reply({.kind = FrameKind::kReply, .part = 0, .step = 0, .version = 1}, {1, 1, 1, 1});
    RETURN_IF_ERROR(stream.Send(reply, 2));
    return stream.Send(reply, 2);
  });
  auto client = Connect(server);
  EXPECT_THAT(Step(*client, 0).message(), HasSubstr("that nothing asked for"));
}

TEST_F(ClientOfFake, TellsWhyAServerEndedTheStream) {
  FakeServer server([](StreamToWorker&, const FrameHeader&) {
    return absl::FailedPreconditionError("worker 1 left");
  });
  auto client = Connect(server);
  std::vector<float> pulled(6);
  const absl::Status status = client->Pull(pulled);
  EXPECT_EQ(status, absl::FailedPreconditionError("server 0 at " + server.address() +
                                                  ", before the first step: worker 1 left"));
  EXPECT_EQ(Step(*client, 0), status);
}

TEST_F(ClientOfFake, AServerThatEndsWithoutAReasonIsLost) {
  FakeServer server([](StreamToWorker& stream, const FrameHeader&) {
    stream.Fail(absl::OkStatus());
    return absl::OkStatus();
  });
  auto client = Connect(server);
  const absl::Status status = Step(*client, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("connection lost in step 0: the server ended it"));
}

TEST_F(ClientOfFake, ConnectingEndsWhenCancelled) {
  FakeServer server([](StreamToWorker&, const FrameHeader&) { return absl::OkStatus(); });
  net::TcpRelay silent(server.address());
  silent.Freeze();
  Client::Options options;
  options.servers = {silent.address()};
  options.part_bytes = 16;
  options.connect_s = 1e6;
  int asked = 0;
  options.cancelled = [&asked] {
    return ++asked < 3 ? absl::OkStatus() : absl::AbortedError("worker 1 was lost");
  };
  EXPECT_EQ(Client::Connect(options, OneBucket(6), timeline_).status(),
            absl::AbortedError("worker 1 was lost"));
  EXPECT_EQ(asked, 3);
}

// Three parts of one value and two credits: the third push waits for a reply.
TEST_F(ClientOfFake, PushesNoMoreThanItsCredits) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int64_t> pushed;
  StreamToWorker* worker = nullptr;
  FakeServer server([&](StreamToWorker& stream, const FrameHeader& header) {
    const std::lock_guard lock(mutex);
    worker = &stream;
    pushed.push_back(header.part);
    changed.notify_all();
    return absl::OkStatus();
  });
  Client::Options options;
  options.servers = {server.address()};
  options.part_bytes = 4;
  options.credits = 2;
  options.total_steps = 5;
  auto client = Client::Connect(options, OneBucket(3), timeline_);
  ASSERT_TRUE(client.ok()) << client.status();
  std::vector<float> values(3, 1);
  (*client)->BeginStep(0, values, values);
  (*client)->PushBucket(0);
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return pushed.size() == 2; });
  EXPECT_FALSE(
      changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return pushed.size() > 2; }));
  const auto answer = [&](uint32_t part) {
    return worker->Send(
        Reply({.kind = FrameKind::kReply, .part = part, .step = 0, .version = 1}, {5.0f + part}),
        3);
  };
  EXPECT_EQ(answer(1), absl::OkStatus());
  changed.wait(lock, [&] { return pushed.size() == 3; });
  EXPECT_EQ(answer(0), absl::OkStatus());
  EXPECT_EQ(answer(2), absl::OkStatus());
  lock.unlock();
  EXPECT_EQ((*client)->Wait(), absl::OkStatus());
  EXPECT_EQ(pushed, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(values, (std::vector<float>{5, 6, 7}));
}

// With a credit each, workers whose buckets are ready in different orders would else wait for each
// other.
TEST_F(ClientOfFake, PushesBucketsInThePlansOrder) {
  std::mutex mutex;
  std::vector<int64_t> pushed;
  FakeServer server([&](StreamToWorker& stream, const FrameHeader& header) {
    const std::lock_guard lock(mutex);
    pushed.push_back(header.part);
    return stream.Send(
        Reply({.kind = FrameKind::kReply, .part = header.part, .step = 0, .version = 1}, {5}), 3);
  });
  Client::Options options;
  options.servers = {server.address()};
  options.part_bytes = 4;
  options.credits = 1;
  options.total_steps = 5;
  BucketPlan buckets;
  for (int id = 0; id < 3; ++id) buckets.buckets.push_back({.id = id, .offset = id, .length = 1});
  auto client = Client::Connect(options, buckets, timeline_);
  ASSERT_TRUE(client.ok()) << client.status();
  std::vector<float> values(3, 1);
  (*client)->BeginStep(0, values, values);
  for (const int bucket : {1, 2, 0}) (*client)->PushBucket(bucket);
  EXPECT_EQ((*client)->Wait(), absl::OkStatus());
  EXPECT_EQ(values, std::vector<float>(3, 5));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(pushed, (std::vector<int64_t>{0, 1, 2}));
}

// Large parts, so that the transport is in the middle of writing them; the memory goes
// right after the client.
TEST_F(ClientOfFake, NeedsNoBufferOnceItIsDestroyed) {
  constexpr int64_t kLength = int64_t{1} << 22;
  for (int round = 0; round < 5; ++round) {
    std::mutex mutex;
    std::condition_variable changed;
    bool first_came = false;
    FakeServer server([&](StreamToWorker&, const FrameHeader&) {
      const std::lock_guard lock(mutex);
      first_came = true;
      changed.notify_all();
      return absl::OkStatus();
    });
    Client::Options options;
    options.servers = {server.address()};
    options.part_bytes = 1 << 20;
    options.total_steps = 5;
    auto buffer = std::make_unique<std::vector<float>>(kLength, 1.0f);
    auto client = Client::Connect(options, OneBucket(kLength), timeline_);
    ASSERT_TRUE(client.ok()) << client.status();
    (*client)->BeginStep(0, *buffer, *buffer);
    (*client)->PushBucket(0);
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return first_came; });
    }
    (*client)->Abort(absl::AbortedError("enough"));
    EXPECT_EQ((*client)->Wait(), absl::AbortedError("enough"));
    client->reset();
    buffer.reset();
  }
}

TEST(SliceLender, WaitsForWhatIsLent) {
  SliceLender lender;
  EXPECT_TRUE(lender.WaitUntilReturned(0));
  const std::vector<std::byte> bytes(100);
  {
    const grpc::Slice slice = lender.Lend(bytes);
    EXPECT_EQ(slice.begin(), reinterpret_cast<const uint8_t*>(bytes.data()));
    const grpc::ByteBuffer message = MakeMessage({.kind = FrameKind::kPush}, slice);
    EXPECT_FALSE(lender.WaitUntilReturned(0));
  }
  EXPECT_TRUE(lender.WaitUntilReturned(0));
}

}  // namespace
}  // namespace crossover::ps
