#include "core/transport_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/job.h"

namespace crossover {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string Line(const std::string& transport, const std::string& constants,
                 const std::string& network = "") {
  return "{\"network\":\"" + network + "\",\"transport\":\"" + transport + "\"," + constants +
         "}\n";
}
constexpr char kConstants[] =
    "\"alpha_us\":5.5,\"message_us\":0,\"beta_us_per_byte\":4e-4,\"gamma_us_per_byte\":1e-4,"
    "\"points\":32,\"error_median\":0.1";

std::string Error(const std::string& text) {
  return std::string(ParseFit(text, "fit.jsonl").status().message());
}

TEST(TransportCosts, ReadsALineForEachTransport) {
  const auto fits =
      ParseFit(Line("tcp", kConstants, "1gbit") + "\r\n" + Line("grpc", kConstants), "fit.jsonl");
  ASSERT_TRUE(fits.ok()) << fits.status();
  ASSERT_EQ(fits->size(), 2);
  EXPECT_EQ(fits->front().network(), "1gbit");
  EXPECT_EQ(fits->front().transport(), "tcp");
  EXPECT_EQ(fits->front().alpha_us(), 5.5);
  EXPECT_EQ(fits->front().beta_us_per_byte(), 4e-4);
  EXPECT_EQ(fits->back().transport(), "grpc");
}

TEST(TransportCosts, ADamagedOrForeignFileIsRefusedWithLineAndFix) {
  const std::string good = Line("tcp", kConstants);
  EXPECT_THAT(Error(""), AllOf(StartsWith("fit.jsonl: no lines; allowed: "), HasSubstr("fix: ")));
  EXPECT_THAT(Error(good + good.substr(0, 60)),
              AllOf(StartsWith("fit.jsonl:2: "), HasSubstr("fix: write it again with comm_test")));
  EXPECT_THAT(Error("name: 'a job'\n"), StartsWith("fit.jsonl:1: "));
  EXPECT_THAT(Error("[1, 2]\n"), StartsWith("fit.jsonl:1: "));
  EXPECT_THAT(Error("\n{\"library\":\"crossover\",\"transport\":\"tcp\"}"),
              AllOf(StartsWith("fit.jsonl:2: "), HasSubstr("library")));
  EXPECT_THAT(Error("{\"alpha_us\":\"fast\"}"), StartsWith("fit.jsonl:1: "));
  EXPECT_THAT(Error(std::string("\0\1\2", 3)), StartsWith("fit.jsonl:1: "));
  EXPECT_THAT(Error(std::string(2 << 20, ' ')), HasSubstr("too large for a fit"));
  EXPECT_THAT(Error("{\"transport\":\"tcp\",\"alpha_us\":1}"),
              StartsWith("fit.jsonl:1 is a fit without message_us; allowed: "));
  EXPECT_THAT(Error("{\"alpha_us\":1}"), StartsWith("fit.jsonl:1 is a fit without transport"));
}

TEST(TransportCosts, ConstantsThatChooseNothingAreRefused) {
  const auto with = [](const std::string& alpha, const std::string& beta) {
    return Line("tcp", "\"alpha_us\":" + alpha + ",\"message_us\":1,\"beta_us_per_byte\":" + beta +
                           ",\"gamma_us_per_byte\":0");
  };
  EXPECT_TRUE(ParseFit(with("1", "1e-3"), "fit.jsonl").ok());
  EXPECT_THAT(Error(with("0", "1e-3")), HasSubstr("a fit whose alpha_us is 0; allowed: above 0"));
  EXPECT_THAT(Error(with("1", "0")), HasSubstr("beta_us_per_byte is 0; allowed: above 0"));
  EXPECT_THAT(Error(with("-1", "1")), HasSubstr("alpha_us is -1"));
  EXPECT_THAT(Error(with("\"NaN\"", "1")), HasSubstr("alpha_us is nan"));
  EXPECT_THAT(Error(with("1e300", "1")), HasSubstr("alpha_us is 1e+300"));
  std::string no_points = Line("tcp", kConstants);
  no_points.replace(no_points.find("\"points\":32"), 11, "\"points\":0");
  EXPECT_THAT(Error(no_points), HasSubstr("is a fit to 0 points; allowed: 1 or more; fix: "));
}

TEST(TransportCosts, TwoFitsOfATransportAreAmbiguous) {
  EXPECT_EQ(
      Error(Line("tcp", kConstants) + Line("tcp", kConstants, "1gbit")),
      "fit.jsonl:2 is a second fit of tcp (1gbit; the first: outside the lab); allowed: one a "
      "transport; fix: keep the one of the network that the job will run on");
}

TEST(TransportCosts, AJobGoesByThoseOfItsTransport) {
  proto::Job job;
  EXPECT_EQ(CostsOfTransport(job.allreduce()), nullptr);
  const auto fits = ParseFit(Line("tcp", kConstants), "fit.jsonl");
  ASSERT_TRUE(fits.ok()) << fits.status();
  *job.mutable_allreduce()->add_costs() = fits->front();
  EXPECT_TRUE(ValidateJob(job).ok());
  ASSERT_NE(CostsOfTransport(job.allreduce()), nullptr);
  EXPECT_EQ(CostsOfTransport(job.allreduce())->alpha_us(), 5.5);
  EXPECT_EQ(CostsOfSharedMemory(job.allreduce()), nullptr);
  proto::TransportCosts& within_hosts = *job.mutable_allreduce()->add_costs();
  within_hosts = fits->front();
  within_hosts.set_transport("shared_memory");
  EXPECT_TRUE(ValidateJob(job).ok());
  EXPECT_EQ(CostsOfSharedMemory(job.allreduce()), &within_hosts);
  job.mutable_allreduce()->mutable_costs()->RemoveLast();
  job.mutable_allreduce()->set_transport(proto::Transport::grpc);
  EXPECT_EQ(CostsOfTransport(job.allreduce()), nullptr);
  EXPECT_THAT(std::string(ValidateJob(job).message()),
              HasSubstr("allowed: a fit of grpc, which the job's collectives travel over"));
  job.mutable_allreduce()->mutable_costs(0)->set_transport("grpc");
  job.mutable_allreduce()->mutable_costs(0)->clear_beta_us_per_byte();
  EXPECT_THAT(std::string(ValidateJob(job).message()),
              StartsWith("allreduce.costs[0] is a fit without beta_us_per_byte"));
}

}  // namespace
}  // namespace crossover
