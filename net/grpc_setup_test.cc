#include "net/grpc_setup.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/thread_handover.h"

namespace crossover::net {
namespace {

// Answers members of the run with what they sent, and others with why not.
class EchoService : public grpc::CallbackGenericService {
 public:
  explicit EchoService(const Identity& ours) : ours_(ours) { HandOver(this); }

 private:
  class Echo : public grpc::ServerGenericBidiReactor {
   public:
    Echo() {
      HandOver(this);
      StartRead(&message_);
    }
    void OnReadDone(bool ok) override {
      TakeOver(this);
      if (ok) {
        StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
      } else {
        Finish(grpc::Status(grpc::StatusCode::INTERNAL, "nothing was sent"));
      }
    }
    void OnDone() override {
      TakeOver(this);
      delete this;
    }

   private:
    grpc::ByteBuffer message_;
  };
  class Refusal : public grpc::ServerGenericBidiReactor {
   public:
    explicit Refusal(const absl::Status& status) {
      HandOver(this);
      Finish(ToGrpc(status));
    }
    void OnDone() override {
      TakeOver(this);
      delete this;
    }
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    TakeOver(this);
    const absl::StatusOr<Identity> caller = CallerIdentity(ours_, *context);
    if (!caller.ok()) return new Refusal(caller.status());
    return new Echo();
  }

  const Identity ours_;
};

class GrpcSetupTest : public testing::Test {
 protected:
  void SetUp() override {
    ours_.job_fingerprint = 0x0123456789abcdef;
    ours_.token = "0123456789abcdef0123456789abcdef";
    absl::StatusOr<RunningServer> running = StartServer({"127.0.0.1:0"}, AddService());
    ASSERT_TRUE(running.ok()) << running.status();
    running_ = *std::move(running);
  }
  std::function<void(grpc::ServerBuilder&)> AddService() {
    return [this](grpc::ServerBuilder& builder) {
      // A service belongs to one server.
      services_.push_back(std::make_unique<EchoService>(ours_));
      builder.RegisterCallbackGenericService(services_.back().get());
    };
  }
  // One echo; `prepare` writes the call's metadata.
  absl::Status Call(const std::function<void(grpc::ClientContext&)>& prepare,
                    const std::string& payload = "x") {
    grpc::GenericStub stub(MakeChannel(running_.address, ""));
    grpc::ClientContext context;
    prepare(context);
    const grpc::Slice slice(payload);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    HandOver(&done);
    stub.UnaryCall(&context, "/test/Echo", grpc::StubOptions(), &request, &response,
                   [&done](grpc::Status status) {
                     TakeOver(&done);
                     done.set_value(std::move(status));
                   });
    const absl::Status status = FromGrpc(done.get_future().get());
    if (status.ok()) {
      EXPECT_EQ(response.Length(), payload.size());
    }
    return status;
  }
  Identity Caller() const {
    Identity caller = ours_;
    caller.role = Role::kServer;
    caller.rank = 3;
    return caller;
  }

  Identity ours_;
  std::vector<std::unique_ptr<EchoService>> services_;
  RunningServer running_;
};

TEST_F(GrpcSetupTest, PublishesThePortThatWasBound) {
  EXPECT_GT(running_.port, 0);
  EXPECT_EQ(running_.address, absl::StrCat("127.0.0.1:", running_.port));
}

TEST_F(GrpcSetupTest, ServesMembersWithMessagesBeyondGrpcsDefaultLimit) {
  const auto prepare = [this](grpc::ClientContext& context) { SetCallIdentity(Caller(), context); };
  EXPECT_TRUE(Call(prepare).ok());
  EXPECT_TRUE(Call(prepare, std::string(9 << 20, 'x')).ok());
}

TEST_F(GrpcSetupTest, RefusesStrangersByName) {
  const auto call_as = [this](const Identity& caller) {
    return Call([&](grpc::ClientContext& context) { SetCallIdentity(caller, context); });
  };
  Identity caller = Caller();
  caller.token[0] = 'f';
  const absl::Status wrong_token = call_as(caller);
  EXPECT_EQ(wrong_token.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(absl::StrContains(wrong_token.message(), "server 3 at 127.0.0.1:")) << wrong_token;
  EXPECT_TRUE(absl::StrContains(wrong_token.message(), "wrong token")) << wrong_token;

  caller = Caller();
  caller.job_fingerprint = 1;
  const absl::Status other_job = call_as(caller);
  EXPECT_EQ(other_job.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(other_job.message(), "another job")) << other_job;

  caller = Caller();
  caller.rank = -1;
  EXPECT_EQ(call_as(caller).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(GrpcSetupTest, ReadsMetadataDefensively) {
  EXPECT_EQ(Call([](grpc::ClientContext&) {}).code(), absl::StatusCode::kPermissionDenied);
  const auto with = [this](const char* key, const char* value) {
    return Call([&](grpc::ClientContext& context) {
      context.AddMetadata("crossover-token", ours_.token);
      if (std::string(key) != "crossover-job") {
        context.AddMetadata("crossover-job", "0123456789abcdef");
      }
      if (std::string(key) != "crossover-role") context.AddMetadata("crossover-role", "worker");
      if (std::string(key) != "crossover-rank") context.AddMetadata("crossover-rank", "0");
      context.AddMetadata(key, value);
    });
  };
  EXPECT_TRUE(with("other", "x").ok());
  EXPECT_TRUE(with("crossover-rank", "2147483647").ok());
  for (const char* rank : {"", "x", "1.5", "0x1", "2147483648", "99999999999999999999"}) {
    EXPECT_EQ(with("crossover-rank", rank).code(), absl::StatusCode::kInvalidArgument) << rank;
  }
  EXPECT_EQ(with("crossover-role", "boss").code(), absl::StatusCode::kInvalidArgument);
  for (const char* job : {"", "x", "0123456789abcdef0"}) {
    EXPECT_EQ(with("crossover-job", job).code(), absl::StatusCode::kFailedPrecondition) << job;
  }
  // Twice is once too often.
  EXPECT_EQ(with("crossover-token", "x").code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(GrpcSetupTest, ATakenPortIsNamed) {
  const absl::Status status = StartServer({running_.address}, AddService()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(
      absl::StrContains(status.message(), absl::StrCat("address ", running_.address, " is taken")))
      << status;
}

TEST_F(GrpcSetupTest, ASharedPortIsTakenToo) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string text = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  EXPECT_EQ(StartServer({text}, AddService()).status().code(), absl::StatusCode::kAlreadyExists);
  close(fd);
}

TEST_F(GrpcSetupTest, APortIsFreeAgainOnceItsServerHasEnded) {
  const auto prepare = [this](grpc::ClientContext& context) { SetCallIdentity(Caller(), context); };
  ASSERT_TRUE(Call(prepare).ok());
  const std::string address = running_.address;
  running_.server->Shutdown();
  running_ = RunningServer();
  absl::StatusOr<RunningServer> again = StartServer({address}, AddService());
  ASSERT_TRUE(again.ok()) << again.status();
  running_ = *std::move(again);
  EXPECT_EQ(running_.address, address);
  EXPECT_TRUE(Call(prepare).ok());
}

TEST_F(GrpcSetupTest, AnAddressThatIsNotThisHostsIsNamed) {
  // TEST-NET-1, which no host has (RFC 5737).
  const absl::Status status = StartServer({"192.0.2.1:0"}, AddService()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(
      absl::StrContains(status.message(), "address 192.0.2.1:0 does not belong to this host"))
      << status;
  EXPECT_EQ(StartServer({"127.0.0.1"}, AddService()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(GrpcSetupTest, BindsANameToo) {
  const absl::StatusOr<RunningServer> running = StartServer({"localhost:0"}, AddService());
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_EQ(running->address, absl::StrCat("localhost:", running->port));
}

TEST(GrpcStatusTest, ConvertsBothWays) {
  EXPECT_TRUE(FromGrpc(ToGrpc(absl::OkStatus())).ok());
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
  EXPECT_EQ(ToGrpc(absl::AbortedError("x")).error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(FromGrpc(grpc::Status(grpc::StatusCode::ABORTED, "two\nlines")),
            absl::AbortedError("two?lines"));
}

TEST(PeerAddressTest, LosesGrpcsDress) {
  EXPECT_EQ(PlainPeerAddress("ipv4:10.0.0.2:40312"), "10.0.0.2:40312");
  EXPECT_EQ(PlainPeerAddress("ipv6:%5B::1%5D:80"), "[::1]:80");
  EXPECT_EQ(PlainPeerAddress("unix:/x"), "a Unix socket");
}

}  // namespace
}  // namespace crossover::net
