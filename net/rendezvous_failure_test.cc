// How runs end when something is lost or breaks the rules.
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "net/address.h"
#include "net/grpc_setup.h"
#include "net/rendezvous_test_util.h"
#include "net/tcp_relay.h"
#include "net/thread_handover.h"
#include "proto/rendezvous.grpc.pb.h"

namespace crossover::net {
namespace {

class RendezvousFailureTest : public RendezvousTest {
 protected:
  // Silence is tested by putting the clock forward: a busy machine must not look dead.
  static constexpr double kSilenceS = 1000;

  // A Join call by hand, for what RendezvousClient never does.
  struct RawCall {
    std::unique_ptr<proto::Rendezvous::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<proto::MemberMessage, proto::RendezvousMessage>>
        stream;
  };
  std::unique_ptr<RawCall> OpenRaw(int rank) {
    return OpenRaw(rank, MakeChannel(server_->address(), ""));
  }
  std::unique_ptr<RawCall> OpenRaw(int rank, const std::shared_ptr<grpc::Channel>& channel) {
    auto call = std::make_unique<RawCall>();
    call->stub = proto::Rendezvous::NewStub(channel);
    Identity identity = identity_;
    identity.rank = rank;
    SetCallIdentity(identity, call->context);
    call->stream = call->stub->Join(&call->context);
    return call;
  }
  // The rendezvous works out when to look next at each new call.
  void LookAtTheClock() { strangers_.push_back(OpenRaw(0)); }
  static proto::MemberMessage Hello(int rank) {
    proto::MemberMessage message;
    message.mutable_hello()->set_role(proto::WORKER);
    message.mutable_hello()->set_rank(rank);
    return message;
  }
  void ExpectAborted(size_t client, const std::string& line) {
    const absl::Status status = watches_[client]->Wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_EQ(status.message(), line);
    EXPECT_EQ(clients_[client]->status(), status);
  }
  void ExpectServerAborted(const std::string& line) {
    EXPECT_TRUE(server_->WaitForEnd(kLongS));
    EXPECT_EQ(server_->status().message(), line);
  }

  std::vector<std::unique_ptr<RawCall>> strangers_;
};

TEST_F(RendezvousFailureTest, TheMissingAreNamedAtTheJoinDeadline) {
  RendezvousServer::Options options = ServerOptions(3, 1);
  options.loss_s = kSilenceS;
  StartServer(options);
  AbortWatch watch;
  RendezvousClient::Options client = ClientOptions(Role::kWorker, 0);
  client.loss_s = kSilenceS;
  auto join = JoinAsync(client, &watch);
  ASSERT_TRUE(Eventually([this] { return server_->members()[0].joined; }));
  clock_.Forward(kLongS);
  LookAtTheClock();
  const absl::Status status = join.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(absl::StartsWith(status.message(),
                               "worker 1, worker 2, server 0 never joined within 60 s: start"))
      << status;
  ExpectServerAborted(std::string(status.message()));
  EXPECT_EQ(watch.calls(), 0);  // Join has said it
  // Who comes too late hears the same.
  EXPECT_EQ(Join(ClientOptions(Role::kWorker, 1)).status(), status);
}

TEST_F(RendezvousFailureTest, TheJoinDeadlinePassesByItself) {
  RendezvousServer::Options options = ServerOptions(1, 0);
  options.join_s = 0.2;
  StartServer(options);
  EXPECT_TRUE(server_->WaitForEnd(1e9));  // wakes up when it happens, not at the end of its time
  EXPECT_TRUE(absl::StartsWith(server_->status().message(), "worker 0 never joined within 0.2 s"));
}

TEST_F(RendezvousFailureTest, NobodyAnswers) {
  StartServer(ServerOptions(1, 0));
  RendezvousClient::Options options = ClientOptions(Role::kWorker, 0);
  server_.reset();
  options.join_s = 0.5;
  const absl::Status status = Join(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(
      absl::StrContains(status.message(), absl::StrCat("nobody answers at ", options.address)))
      << status;
}

TEST_F(RendezvousFailureTest, TheRendezvousMayStartLater) {
  StartServer(ServerOptions(1, 0));
  RendezvousServer::Options server_options = ServerOptions(1, 0);
  server_options.address = server_->address();
  const RendezvousClient::Options options = ClientOptions(Role::kWorker, 0);
  server_.reset();
  auto join = JoinAsync(options);
  clock_.SleepNs(300'000'000);  // a few attempts come to nothing
  StartServer(server_options);
  const absl::StatusOr<Client> client = join.get();
  EXPECT_TRUE(client.ok()) << client.status();
}

TEST_F(RendezvousFailureTest, ATakenPortIsNamed) {
  StartServer(ServerOptions(1, 0));
  RendezvousServer::Options options = ServerOptions(1, 0);
  options.address = server_->address();
  const absl::Status status = RendezvousServer::Start(options, clock_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(absl::StrContains(status.message(),
                                absl::StrCat("rendezvous: address ", options.address, " is taken")))
      << status;
}

TEST_F(RendezvousFailureTest, ABrokenStreamIsALossAtOnce) {
  StartRun(2, 1);
  clients_[1]->SetStatus(7, "train", 0, 0);
  ASSERT_TRUE(Eventually([this] { return server_->members()[1].step == 7; }));
  clients_[1].reset();  // without a leave
  const std::string line =
      "worker 1 at 127.0.0.1:4001 was lost in step 7 (train): connection closed";
  ExpectAborted(0, line);
  ExpectAborted(2, line);
  EXPECT_EQ(clients_[2]->WaitForWorkersToLeave().message(), line);
  EXPECT_EQ(clients_[0]->Leave().message(), line);
  ExpectServerAborted(line);
  clients_.clear();
  EXPECT_EQ(watches_[0]->calls(), 1);
  EXPECT_EQ(watches_[1]->calls(), 0);
}

TEST_F(RendezvousFailureTest, ALossBeforeTheRosterEndsTheRunToo) {
  StartServer(ServerOptions(3, 0));
  auto join = JoinAsync(ClientOptions(Role::kWorker, 0));
  const std::unique_ptr<RawCall> stranger = OpenRaw(2);  // no hello, so no member
  stranger->context.TryCancel();
  const std::unique_ptr<RawCall> call = OpenRaw(1);
  call->stream->Write(Hello(1));
  ASSERT_TRUE(
      Eventually([this] { return server_->members()[0].joined && server_->members()[1].joined; }));
  EXPECT_TRUE(server_->status().ok());
  call->context.TryCancel();
  const absl::Status status = join.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(absl::StartsWith(status.message(), "worker 1 at 127.0.0.1:")) << status;
  EXPECT_TRUE(
      absl::EndsWith(status.message(), "was lost before its first step (join): connection closed"))
      << status;
}

TEST_F(RendezvousFailureTest, SilenceIsALoss) {
  RendezvousServer::Options options = ServerOptions(2, 0);
  options.loss_s = kSilenceS;
  StartServer(options);
  RendezvousClient::Options lively = ClientOptions(Role::kWorker, 0);
  lively.loss_s = 1e6;
  RendezvousClient::Options silent = ClientOptions(Role::kWorker, 1);
  silent.loss_s = 1e6;
  silent.heartbeat_s = 1e6;
  JoinAll({lively, silent});
  clock_.Forward(kSilenceS / 2);
  clients_[0]->SetStatus(1, "train", 0, 0);
  ASSERT_TRUE(Eventually([this] { return server_->members()[0].step == 1; }));
  EXPECT_TRUE(server_->status().ok());
  clock_.Forward(kSilenceS / 2);
  LookAtTheClock();
  const std::string line =
      "worker 1 at 127.0.0.1:4001 was lost before its first step (join): no sign of life for 1000 "
      "s";
  ExpectAborted(0, line);
  ExpectServerAborted(line);
}

TEST_F(RendezvousFailureTest, SilenceIsNoticedByItself) {
  RendezvousServer::Options options = ServerOptions(1, 0);
  options.loss_s = 0.2;
  StartServer(options);
  const std::unique_ptr<RawCall> call = OpenRaw(0);
  proto::RendezvousMessage answer;
  EXPECT_FALSE(call->stream->Read(&answer));
  const grpc::Status status = call->stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(absl::EndsWith(status.error_message(), "said no hello within 0.2 s"));
}

TEST_F(RendezvousFailureTest, HeartbeatsAloneKeepARunAlive) {
  RendezvousServer::Options options = ServerOptions(1, 0);
  options.loss_s = kSilenceS;
  StartServer(options);
  RendezvousClient::Options client = ClientOptions(Role::kWorker, 0);
  client.loss_s = kSilenceS;
  JoinAll({client});
  clients_[0]->SetStatus(0, "train", 0, 0);
  for (int step = 1; step < 6; ++step) {
    clock_.Forward(0.6 * kSilenceS);
    clients_[0]->SetStatus(step, "train", 0, 0);  // told by the next heartbeat
    ASSERT_TRUE(Eventually([&] { return server_->members()[0].step == step; }));
    LookAtTheClock();
  }
  EXPECT_TRUE(clients_[0]->Leave().ok());
  EXPECT_TRUE(server_->status().ok());
  EXPECT_EQ(watches_[0]->calls(), 0);
}

TEST_F(RendezvousFailureTest, ARendezvousThatIsShutDownSaysSo) {
  StartRun(2, 0);
  const std::string address = server_->address();
  server_.reset();
  ExpectAborted(
      0, absl::StrCat("the rendezvous at ", address, " was shut down before everyone had left"));
  EXPECT_TRUE(absl::StrContains(watches_[1]->Wait().message(), "was shut down"));
}

TEST_F(RendezvousFailureTest, ARendezvousThatDiesIsLost) {
  StartServer(ServerOptions(1, 0));
  TcpRelay relay(server_->address());
  RendezvousClient::Options options = ClientOptions(Role::kWorker, 0);
  options.address = relay.address();
  JoinAll({options});
  relay.Cut();
  const absl::Status status = watches_[0]->Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StartsWith(status.message(),
                               absl::StrCat("the rendezvous at ", relay.address(), " was lost: ")))
      << status;
  EXPECT_EQ(clients_[0]->Barrier("x", kLongS), status);
  // From the other side it is the worker's loss.
  ExpectServerAborted(
      "worker 0 at 127.0.0.1:4000 was lost before its first step (join): connection closed");
}

// By the name of its host, and with the step in which whoever tells it was.
TEST_F(RendezvousFailureTest, ARendezvousThatWorker0ServesIsLostWithIt) {
  RendezvousServer::Options host = ServerOptions(1, 1);
  host.hosted_by_worker_0 = true;
  StartServer(host);
  TcpRelay relay(server_->address());
  RendezvousClient::Options member = ClientOptions(Role::kServer, 0);
  member.address = relay.address();
  JoinAll({ClientOptions(Role::kWorker, 0), member});
  clients_[1]->SetStatus(12, "train", 0, 0);
  relay.Cut();
  EXPECT_TRUE(absl::StartsWith(watches_[1]->Wait().message(),
                               absl::StrCat("worker 0, which serves the rendezvous at ",
                                            relay.address(), ", was lost in step 12: ")))
      << watches_[1]->Wait();
}

TEST_F(RendezvousFailureTest, ARendezvousThatFallsSilentIsLost) {
  RendezvousServer::Options options = ServerOptions(1, 0);
  options.loss_s = kSilenceS;
  StartServer(options);
  TcpRelay relay(server_->address());
  RendezvousClient::Options client = ClientOptions(Role::kWorker, 0);
  client.address = relay.address();
  client.loss_s = kSilenceS;
  JoinAll({client});
  relay.Freeze();
  // From some ping on none is answered.
  EXPECT_TRUE(Eventually([this] {
    clock_.Forward(kSilenceS);
    return watches_[0]->calls() > 0;
  }));
  const absl::Status status = watches_[0]->Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::EndsWith(status.message(), "was lost: no answer for 1000 s")) << status;
  // Its end of the stream never closes, and is taken down.
  LookAtTheClock();
  ExpectServerAborted(
      "worker 0 at 127.0.0.1:4000 was lost before its first step (join): no sign of life for 1000 "
      "s");
}

TEST_F(RendezvousFailureTest, ABarrierEndsWithTheAbort) {
  StartRun(3, 0);
  auto barrier =
      std::async(std::launch::async, [this] { return clients_[0]->Barrier("start", kLongS); });
  clients_[2].reset();
  EXPECT_TRUE(absl::StartsWith(barrier.get().message(), "worker 2 at 127.0.0.1:4002 was lost"));
}

TEST_F(RendezvousFailureTest, AReportedFailureEndsTheRunWithItsReason) {
  StartRun(2, 1);
  clients_[2]->SetStatus(3, "train", 0, 0);
  clients_[2]->ReportFailure(absl::ResourceExhaustedError("no memory\nfor the shard"));
  clients_[2].reset();  // as its process ends
  const std::string line =
      "server 0 at 127.0.0.1:5000 was lost in step 3 (train): no memory?for the shard";
  ExpectAborted(0, line);
  ExpectAborted(1, line);
  ExpectServerAborted(line);
}

TEST_F(RendezvousFailureTest, TheHostMayAbortAndTheFirstWins) {
  StartRun(1, 1);
  server_->Abort(Role::kServer, 0, "10.0.0.1:5000", "exited with 1");
  server_->Abort("interrupted");
  const std::string line =
      "server 0 at 10.0.0.1:5000 was lost before its first step (join): exited with 1";
  ExpectAborted(0, line);
  ExpectAborted(1, line);
  ExpectServerAborted(line);

  clients_.clear();
  StartServer(ServerOptions(1, 0));
  server_->Abort("interrupted");
  EXPECT_EQ(Join(ClientOptions(Role::kWorker, 0)).status(), absl::AbortedError("interrupted"));
}

TEST_F(RendezvousFailureTest, OnAbortMayCallTheClient) {
  StartServer(ServerOptions(1, 0));
  std::promise<RendezvousClient*> joined;
  std::promise<absl::Status> seen;
  absl::StatusOr<Client> client =
      RendezvousClient::Join(ClientOptions(Role::kWorker, 0), clock_, [&](const absl::Status& why) {
        RendezvousClient* const self = joined.get_future().get();
        self->ReportFailure(why);
        self->SetStatus(1, "end", 0, 0);
        EXPECT_EQ(self->Leave(), why);
        seen.set_value(self->status());
      });
  ASSERT_TRUE(client.ok()) << client.status();
  joined.set_value(client->get());
  server_->Abort("interrupted");
  EXPECT_EQ(seen.get_future().get().message(), "interrupted");
}

TEST_F(RendezvousFailureTest, AMemberThatSpeaksBeforeItsHelloIsRefused) {
  StartServer(ServerOptions(1, 0));
  const std::unique_ptr<RawCall> call = OpenRaw(0);
  proto::MemberMessage message;
  message.mutable_leave();
  call->stream->Write(message);
  proto::RendezvousMessage answer;
  EXPECT_FALSE(call->stream->Read(&answer));
  const grpc::Status status = call->stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "another message before its hello"));
  JoinAll({ClientOptions(Role::kWorker, 0)});
}

TEST_F(RendezvousFailureTest, ASecondHelloEndsTheRun) {
  StartServer(ServerOptions(1, 0));
  const std::unique_ptr<RawCall> call = OpenRaw(0);
  call->stream->Write(Hello(0));
  call->stream->Write(Hello(0));
  proto::RendezvousMessage answer;
  while (call->stream->Read(&answer)) {
  }
  const grpc::Status status = call->stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "it said hello twice"));
}

TEST_F(RendezvousFailureTest, AMessageThatIsNoneIsTheEndOfItsStreamAlone) {
  StartServer(ServerOptions(1, 0));
  grpc::GenericStub stub(MakeChannel(server_->address(), ""));
  grpc::ClientContext context;
  SetCallIdentity(identity_, context);
  const grpc::Slice slice(std::string("\xff\xff\xff garbage"));
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  HandOver(&done);
  stub.UnaryCall(&context, "/crossover.proto.Rendezvous/Join", grpc::StubOptions(), &request,
                 &response, [&done](grpc::Status status) {
                   TakeOver(&done);
                   done.set_value(std::move(status));
                 });
  EXPECT_FALSE(done.get_future().get().ok());
  JoinAll({ClientOptions(Role::kWorker, 0)});
}

TEST_F(RendezvousFailureTest, JunkOnThePortHarmsNobody) {
  StartServer(ServerOptions(2, 0));
  auto join = JoinAsync(ClientOptions(Role::kWorker, 0));
  const std::string junk[] = {std::string(100'000, '\xff'), "GET / HTTP/1.1\r\n\r\n", "",
                              std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\xff\xff", 27)};
  for (const std::string& bytes : junk) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(ParseHostPort(server_->address())->port));
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    // The server may hang up in the middle.
    [[maybe_unused]] const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(fd);
  }
  const absl::StatusOr<Client> second = Join(ClientOptions(Role::kWorker, 1));
  ASSERT_TRUE(second.ok()) << second.status();
  const absl::StatusOr<Client> first = join.get();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE((*first)->status().ok());
}

TEST_F(RendezvousFailureTest, AMemberThatDoesNotReadIsTakenDown) {
  StartServer(ServerOptions(1, 0));
  grpc::ChannelArguments arguments;  // a window that does not grow
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1024);
  const std::unique_ptr<RawCall> call = OpenRaw(
      0,
      grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments));
  call->stream->Write(Hello(0));
  proto::MemberMessage ping;
  ping.mutable_ping()->set_member_time_ns(1);
  // Far more pongs than the window holds: the write of one is stuck, and one more waits.
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(call->stream->Write(ping));
  EXPECT_TRUE(server_->status().ok());
  server_->Abort("interrupted");
  EXPECT_TRUE(server_->WaitForEnd(kLongS));
}

TEST_F(RendezvousFailureTest, DestructionEndsAllStreams) {
  StartServer(ServerOptions(2, 0));
  auto join = JoinAsync(ClientOptions(Role::kWorker, 0));
  const std::unique_ptr<RawCall> silent = OpenRaw(1);
  ASSERT_TRUE(Eventually([this] { return server_->members()[0].joined; }));
  server_.reset();
  EXPECT_EQ(join.get().status().code(), absl::StatusCode::kAborted);
  proto::RendezvousMessage answer;
  EXPECT_FALSE(silent->stream->Read(&answer));
  EXPECT_FALSE(silent->stream->Finish().ok());
}

}  // namespace
}  // namespace crossover::net
