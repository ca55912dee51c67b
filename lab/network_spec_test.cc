#include "lab/network_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace crossover::lab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

NetworkSpec Parsed(std::string_view text) {
  const absl::StatusOr<NetworkSpec> spec = ParseNetworkSpec(text);
  EXPECT_TRUE(spec.ok()) << text << ": " << spec.status();
  return spec.value_or(NetworkSpec());
}

std::string Error(std::string_view text) {
  const absl::StatusOr<NetworkSpec> spec = ParseNetworkSpec(text);
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(spec.status().message());
}

TEST(NetworkSpecTest, OneRateForAll) {
  const NetworkSpec spec = Parsed("1gbit,0.5ms,loss=1%,queue=64kb");
  for (const char* role : {"worker", "server"}) {
    EXPECT_DOUBLE_EQ(spec.LinkOf(role).rate_bits_per_s, 1e9);
    EXPECT_DOUBLE_EQ(spec.LinkOf(role).delay_us, 500);
    EXPECT_DOUBLE_EQ(spec.LinkOf(role).loss_fraction, 0.01);
    EXPECT_EQ(spec.LinkOf(role).queue_bytes, 64000);
  }
  EXPECT_EQ(spec.LinkOf("control"), LinkSpec());
  EXPECT_TRUE(spec.shaped());
}

TEST(NetworkSpecTest, RatesByRoleShareTheRest) {
  const NetworkSpec spec = Parsed("worker=1gbit,server=10gbit,0.5ms");
  EXPECT_DOUBLE_EQ(spec.LinkOf("worker").rate_bits_per_s, 1e9);
  EXPECT_DOUBLE_EQ(spec.LinkOf("server").rate_bits_per_s, 10e9);
  EXPECT_DOUBLE_EQ(spec.LinkOf("worker").delay_us, 500);
  EXPECT_DOUBLE_EQ(spec.LinkOf("server").delay_us, 500);
  // A role's rate wins over the one for all, wherever it stands.
  EXPECT_EQ(Parsed("server=10gbit,1gbit"), Parsed("worker=1gbit,server=10gbit"));
}

TEST(NetworkSpecTest, TheQueueFollowsTheRateUnlessGiven) {
  EXPECT_EQ(Parsed("1gbit").LinkOf("worker").queue_bytes, 2'000'000);
  EXPECT_EQ(Parsed("10gbit").LinkOf("worker").queue_bytes, 4'000'000);
  EXPECT_EQ(Parsed("50mbit").LinkOf("worker").queue_bytes, 256'000);
  const NetworkSpec two = Parsed("worker=500mbit,server=1gbit");
  EXPECT_EQ(two.LinkOf("worker").queue_bytes, 1'000'000);
  EXPECT_EQ(two.LinkOf("server").queue_bytes, 2'000'000);
  EXPECT_EQ(NetworkSpecText(two), "worker=500mbit,server=1gbit");
  EXPECT_EQ(NetworkSpecText(Parsed("worker=500mbit,server=1gbit,queue=2mb")),
            "worker=500mbit,server=1gbit,queue=2mb");
}

TEST(NetworkSpecTest, PresetsMayBeChanged) {
  EXPECT_EQ(Parsed("wan"), Parsed("100mbit,10ms"));
  EXPECT_EQ(Parsed("1gbe"), Parsed("1gbit,50us"));
  EXPECT_EQ(Parsed("wan,50mbit,loss=0.5%"), Parsed("50mbit,10ms,loss=0.5%"));
  EXPECT_DOUBLE_EQ(Parsed("100mbit").LinkOf("worker").rate_bits_per_s, 1e8);
  EXPECT_FALSE(Parsed("loopback").shaped());
  EXPECT_EQ(Parsed(" 1GBit "), Parsed("1gbit"));
}

TEST(NetworkSpecTest, CanonicalTextParsesBack) {
  for (const char* text :
       {"1gbit", "100mbit,10ms", "2.5gbit,50us,loss=0.1%,queue=256kb",
        "worker=1gbit,server=10gbit,1s", "loopback", "12.5kbit", "1gbit,loss=0.00001%"}) {
    EXPECT_EQ(NetworkSpecText(Parsed(text)), text);
  }
  EXPECT_EQ(NetworkSpecText(Parsed("0.5ms,loss=0%,1000mbit,queue=2000kb")), "1gbit,500us");
}

TEST(NetworkSpecTest, ErrorsNameTheItemAndTheFix) {
  EXPECT_THAT(Error(""), AllOf(HasSubstr("found ''"), HasSubstr("fix:")));
  EXPECT_THAT(Error("1gbit,"), HasSubstr("found ''"));
  EXPECT_THAT(Error("1gb"), HasSubstr("found '1gb'"));
  EXPECT_THAT(Error("fast"), HasSubstr("allowed: RATE"));
  EXPECT_THAT(Error("1gbit,2gbit"), HasSubstr("a second rate, '2gbit'"));
  EXPECT_THAT(Error("1gbit,1ms,2ms"), HasSubstr("a second delay"));
  EXPECT_THAT(Error("worker=1gbit"), HasSubstr("gives the role server no rate"));
  EXPECT_THAT(Error("0.5ms"), HasSubstr("no rate"));
  EXPECT_THAT(Error("workr=1gbit,1gbit"), HasSubstr("'workr=1gbit'"));
  EXPECT_THAT(Error("worker=1gbit,worker=2gbit,1gbit"), HasSubstr("rate of the role worker"));
  EXPECT_THAT(Error("0gbit"), HasSubstr("the rate '0gbit'; allowed: 1kbit to 400gbit"));
  EXPECT_THAT(Error("1gbit,6s"), HasSubstr("the delay '6s'"));
  EXPECT_THAT(Error("-1gbit"), HasSubstr("the rate '-1gbit'"));
  EXPECT_THAT(Error("1.2.3gbit"), HasSubstr("the rate '1.2.3gbit'"));
  EXPECT_THAT(Error("1gbit,loss=100%"), HasSubstr("loss=100%; allowed: 0% to below 100%"));
  EXPECT_THAT(Error("1gbit,loss=nan%"), HasSubstr("loss=nan%"));
  EXPECT_THAT(Error("1gbit,loss=1"), HasSubstr("loss=1;"));
  EXPECT_THAT(Error("1gbit,queue=1b"), HasSubstr("queue=1b; allowed: 32kb to 1000mb"));
}

TEST(NetworkSpecTest, NumbersArePlainDecimals) {
  for (const char* odd : {"loss=1e1%", "loss=+1%", "loss= 1%", "loss=0x1%", "loss=.%", "loss=inf%",
                          "queue=1e5b", "queue=+64kb", "worker=1e3mbit", "1e1ms", "+1ms"}) {
    EXPECT_THAT(Error(absl::StrCat("1gbit,", odd)), HasSubstr("allowed: ")) << odd;
  }
  EXPECT_THAT(Error("1gbit,loss=1e1%"), HasSubstr("loss=1e1%; allowed: 0% to below 100%"));
  EXPECT_THAT(Error("1e3mbit"), HasSubstr("the rate '1e3mbit'"));
  EXPECT_EQ(Parsed("1.0gbit,0.50ms,loss=01.5%"), Parsed("1gbit,500us,loss=1.5%"));
}

TEST(NetworkSpecTest, ScalingSlowsTheLinkWithTheComputeAndTheBytes) {
  const NetworkSpec scaled = Parsed("worker=1gbit,server=10gbit,0.5ms").Scaled(4, 2.5);
  EXPECT_DOUBLE_EQ(scaled.LinkOf("worker").rate_bits_per_s, 1e8);
  EXPECT_DOUBLE_EQ(scaled.LinkOf("server").rate_bits_per_s, 1e9);
  EXPECT_DOUBLE_EQ(scaled.LinkOf("worker").delay_us, 2000);
  EXPECT_EQ(scaled.LinkOf("worker").queue_bytes, 800000);
  EXPECT_EQ(Parsed("1gbit").Scaled(1, 1000).LinkOf("worker").queue_bytes, kQueueBytesMin);
  EXPECT_EQ(Parsed("1gbit").Scaled(1, 1), Parsed("1gbit"));
  EXPECT_FALSE(NetworkSpec().Scaled(2, 2).shaped());
}

TEST(NetworkSpecTest, PayloadRateOfFullFrames) {
  EXPECT_NEAR(TcpPayloadBytesPerS(1e9), 117.685e6, 1e3);
}

}  // namespace
}  // namespace crossover::lab
