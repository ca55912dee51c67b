#include "experiments/hosts/pair_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossover::experiments {
namespace {

using testing::HasSubstr;

TEST(PairProbe, MeasuresLatencyAndRate) {
  const SystemClock clock;
  const auto server = ProbeServer::Start("127.0.0.1", clock);
  ASSERT_TRUE(server.ok()) << server.status();
  for (int i = 0; i < 2; ++i) {
    const auto figures = ProbePeer((*server)->address(), (*server)->secret(), 0.02, clock);
    ASSERT_TRUE(figures.ok()) << figures.status();
    EXPECT_GT(figures->rtt_us, 0);
    EXPECT_GT(figures->bytes_per_s, 0);
  }
}

TEST(PairProbe, AnswersNobodyWithoutTheSecret) {
  const SystemClock clock;
  const auto server = ProbeServer::Start("127.0.0.1", clock);
  ASSERT_TRUE(server.ok());
  const auto figures =
      ProbePeer((*server)->address(), std::string((*server)->secret().size(), 'x'), 0.01, clock);
  EXPECT_THAT(figures.status().message(), HasSubstr("belongs to another host"));
}

TEST(PairProbe, SaysWhichAddressItCannotReach) {
  const SystemClock clock;
  std::string address;
  {
    const auto server = ProbeServer::Start("127.0.0.1", clock);
    ASSERT_TRUE(server.ok());
    address = (*server)->address();
  }
  const auto figures = ProbePeer(address, "x", 0.01, clock);
  EXPECT_THAT(figures.status().message(), HasSubstr(address));
  EXPECT_THAT(figures.status().message(), HasSubstr("refused"));
}

TEST(PairProbe, AServerThatIsNotThisHostsIsRefused) {
  const SystemClock clock;
  EXPECT_THAT(ProbeServer::Start("192.0.2.1", clock).status().message(), HasSubstr("192.0.2.1"));
}

}  // namespace
}  // namespace crossover::experiments
