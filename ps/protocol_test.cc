// What a server answers to a worker that breaks the rules, frame by frame, and that
// it harms nobody else.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "core/timeline.h"
#include "net/grpc_setup.h"
#include "ps/exchange_testing.h"
#include "ps/frame_buffer.h"
#include "ps/wire.h"

namespace crossover::ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A stream on which anything can be sent, one blocking operation at a time.
class RawStream {
 public:
  RawStream(const std::string& address, const net::Identity& identity,
            const std::string& method = kExchangeMethod)
      : stub_(net::MakeChannel(address, identity.tls_pem)) {
    net::SetCallIdentity(identity, context_);
    context_.set_deadline(net::TimeoutFromNow(30));  // of everything
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(this);
    Next();
  }

  void Send(const grpc::ByteBuffer& message) {
    call_->Write(message, this);
    Next();
  }
  void Send(FrameHeader header, std::span<const std::byte> payload) {
    Send(MakeMessage(header, grpc::Slice(payload.data(), payload.size())));
  }
  void Send(FrameHeader header, const std::vector<float>& values) {
    Send(header, std::as_bytes(std::span(values)));
  }
  // Nothing at the stream's end.
  std::optional<FrameHeader> Receive() {
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, this);
    if (!Next()) return std::nullopt;
    const auto header = DecodeHeader(ReceivedMessage(buffer).bytes());
    EXPECT_TRUE(header.ok()) << header.status();
    return *header;
  }
  // The status with which the server ended the stream; drops what came before.
  absl::Status End() {
    while (Receive().has_value()) {
    }
    grpc::Status status;
    call_->Finish(&status, this);
    Next();
    return net::FromGrpc(status);
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

constexpr int64_t kTotalSteps = 50;

// Two workers, one server, parts 0 (4 values) and 1 (2 values).
class Protocol : public ::testing::Test {
 protected:
  explicit Protocol(proto::Strategy::Name strategy = proto::Strategy::ps_async)
      : cluster_(TestJob(strategy, 2, 1), {6}) {}

  RawStream Stream(int worker) {
    return RawStream(cluster_.server(0).address(), cluster_.WorkerIdentity(worker));
  }
  void SendPlan(RawStream& stream, const WorkerPlan& plan = {kTotalSteps, {6}}) {
    const std::vector<std::byte> bytes = EncodePlan(plan);
    stream.Send({.kind = FrameKind::kPlan}, bytes);
  }
  void Plan(RawStream& stream) {
    SendPlan(stream);
    const auto answer = stream.Receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->kind, FrameKind::kAck);
  }
  void Initialize(RawStream& stream) {
    stream.Send({.kind = FrameKind::kInitialize, .part = 0}, std::vector<float>(4));
    stream.Send({.kind = FrameKind::kInitialize, .part = 1}, std::vector<float>(2));
    EXPECT_EQ(stream.Receive()->kind, FrameKind::kAck);
    EXPECT_EQ(stream.Receive()->kind, FrameKind::kAck);
  }
  void Push(RawStream& stream, uint32_t part, int64_t step, int64_t version, size_t values) {
    stream.Send({.kind = FrameKind::kPush, .part = part, .step = step, .version = version},
                std::vector<float>(values, 1));
  }
  // The stream ends with such an error, is reported as lost, and worker 0 trains on.
  void ExpectError(RawStream& stream, absl::StatusCode code, const std::string& text) {
    const absl::Status status = stream.End();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(status.message(), HasSubstr(text));
    cluster_.WaitUntil([&] { return cluster_.lost().size() == 1; });
    EXPECT_THAT(cluster_.lost()[0], AllOf(StartsWith("worker 1 at 127.0.0.1:"), HasSubstr(text)));
    Timeline timeline(cluster_.clock());
    auto client = Client::Connect(cluster_.ClientOptions(0), cluster_.buckets(), timeline);
    ASSERT_TRUE(client.ok()) << client.status();
    std::vector<float> parameters(6);
    EXPECT_TRUE((*client)->Initialize(parameters).ok());
    (*client)->BeginStep(0, parameters, parameters);
    (*client)->PushBucket(0);
    EXPECT_TRUE((*client)->Wait().ok());
    EXPECT_TRUE((*client)->Leave().ok());
    EXPECT_EQ(cluster_.lost().size(), 1u);
  }

  TestCluster cluster_;
};

TEST_F(Protocol, JunkIsRefused) {
  RawStream stream = Stream(1);
  const std::string junk(100, 'x');
  const grpc::Slice slice(junk);
  stream.Send(grpc::ByteBuffer(&slice, 1));
  ExpectError(stream, absl::StatusCode::kInvalidArgument, "frame starts with 0x78787878");
}

TEST_F(Protocol, AnEmptyMessageIsRefused) {
  RawStream stream = Stream(1);
  stream.Send(grpc::ByteBuffer(nullptr, 0));
  ExpectError(stream, absl::StatusCode::kInvalidArgument, "frame of 0 bytes");
}

TEST_F(Protocol, ThePlanComesFirst) {
  RawStream stream = Stream(1);
  stream.Send({.kind = FrameKind::kPull, .part = 0}, std::span<const std::byte>());
  ExpectError(stream, absl::StatusCode::kFailedPrecondition, "pull frame before the plan");
}

TEST_F(Protocol, ThePlanComesOnce) {
  RawStream stream = Stream(1);
  Plan(stream);
  SendPlan(stream);
  ExpectError(stream, absl::StatusCode::kFailedPrecondition, "second plan");
}

TEST_F(Protocol, AnImpossiblePlanIsRefused) {
  RawStream stream = Stream(1);
  SendPlan(stream, {kTotalSteps, {-1}});
  ExpectError(stream, absl::StatusCode::kInvalidArgument, "bucket's length is -1");
}

TEST_F(Protocol, APartThatIsNotThereIsRefused) {
  RawStream stream = Stream(1);
  Plan(stream);
  stream.Send({.kind = FrameKind::kPull, .part = 2}, std::span<const std::byte>());
  ExpectError(stream, absl::StatusCode::kInvalidArgument, "part 2; there are 2");
}

TEST_F(Protocol, AWrongSizeIsRefused) {
  RawStream stream = Stream(1);
  Plan(stream);
  Push(stream, 1, 0, 0, 3);
  ExpectError(stream, absl::StatusCode::kInvalidArgument, "part 1 has 8 bytes; 12 came");
}

TEST_F(Protocol, APushBeforeTheParametersIsRefused) {
  RawStream stream = Stream(1);
  Plan(stream);
  Push(stream, 0, 0, 0, 4);
  ExpectError(stream, absl::StatusCode::kFailedPrecondition, "not been initialized");
}

TEST_F(Protocol, OnlyWorker0Initializes) {
  RawStream stream = Stream(1);
  Plan(stream);
  stream.Send({.kind = FrameKind::kInitialize, .part = 0}, std::vector<float>(4));
  ExpectError(stream, absl::StatusCode::kFailedPrecondition, "worker 0's are everyone's");
}

TEST_F(Protocol, APullAtATime) {
  RawStream stream = Stream(1);
  Plan(stream);
  stream.Send({.kind = FrameKind::kPull, .part = 0}, std::span<const std::byte>());
  stream.Send({.kind = FrameKind::kPull, .part = 0}, std::span<const std::byte>());
  ExpectError(stream, absl::StatusCode::kFailedPrecondition, "last pull is unanswered");
}

TEST_F(Protocol, AServersFrameIsRefused) {
  RawStream stream = Stream(1);
  Plan(stream);
  stream.Send({.kind = FrameKind::kReply, .part = 0, .version = 0}, std::vector<float>(4));
  ExpectError(stream, absl::StatusCode::kInvalidArgument, "a server's reply frame");
}

TEST_F(Protocol, NothingComesAfterLeave) {
  RawStream stream = Stream(1);
  Plan(stream);
  stream.Send({.kind = FrameKind::kLeave}, std::span<const std::byte>());
  EXPECT_EQ(stream.Receive()->kind, FrameKind::kAck);
  stream.Send({.kind = FrameKind::kPull, .part = 0}, std::span<const std::byte>());
  ExpectError(stream, absl::StatusCode::kFailedPrecondition, "pull frame after leave");
}

TEST_F(Protocol, AnotherMethodIsRefused) {
  RawStream stream(cluster_.server(0).address(), cluster_.WorkerIdentity(1), "/other/Method");
  const absl::Status status = stream.End();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("no method /other/Method"));
}

TEST_F(Protocol, AStepOutOfOrderIsRefused) {
  RawStream first = Stream(0);
  Plan(first);
  Initialize(first);
  Push(first, 0, 1, 0, 4);
  EXPECT_THAT(first.End().message(), HasSubstr("part 0: push of worker 0 for step 1: its next"));
}

class SyncProtocol : public Protocol {
 protected:
  SyncProtocol() : Protocol(proto::Strategy::ps_sync) {}
};

TEST_F(SyncProtocol, APushAtATimeForEachPart) {
  RawStream first = Stream(0);
  Plan(first);
  Initialize(first);
  Push(first, 0, 0, 0, 4);
  Push(first, 1, 0, 0, 2);  // another part's is another matter
  Push(first, 0, 1, 0, 4);
  EXPECT_THAT(first.End().message(), HasSubstr("its push for step 0 has not been answered"));
}

// Replies of 4 MiB each.
TEST(ProtocolBounds, AWorkerThatDoesNotReadIsLetGo) {
  constexpr int64_t kValues = 1 << 20;
  proto::Job job = TestJob(proto::Strategy::ps_async, 1, 1);
  job.mutable_ps()->set_part_bytes(4 * kValues);
  TestCluster cluster(job, {kValues});
  RawStream stream(cluster.server(0).address(), cluster.WorkerIdentity(0));
  const std::vector<std::byte> plan = EncodePlan({kTotalSteps, {kValues}});
  stream.Send({.kind = FrameKind::kPlan}, plan);
  stream.Send({.kind = FrameKind::kInitialize, .part = 0}, std::vector<float>(kValues));
  EXPECT_EQ(stream.Receive()->kind, FrameKind::kAck);
  EXPECT_EQ(stream.Receive()->kind, FrameKind::kAck);
  // The connection takes some replies by itself, but never so many. Reading begins
  // when the server has had enough.
  for (int pull = 0; pull < 200; ++pull) {
    stream.Send({.kind = FrameKind::kPull, .part = 0}, std::span<const std::byte>());
  }
  cluster.WaitUntil([&] { return !cluster.lost().empty(); });
  const absl::Status status = stream.End();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(status.message(), HasSubstr("the worker does not read its replies: 5 wait for it"));
}

}  // namespace
}  // namespace crossover::ps
