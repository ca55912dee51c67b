#include "experiments/results/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "experiments/results/result_fixture.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(std::string_view jsonl) {
  return std::string(ParseResults(jsonl).status().message());
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ResultTest, RoundTripKeepsEveryField) {
  RunResult run = MadeUpRun("ps_ssp", 2, 4, 39600, .88);
  run.notes = {"a note", "another"};
  run.bytes_to_target = 1.5e9;
  run.network.probe = {{"10.0.0.1", 117e6, 116e6, 0, 120, -3600.25, .0004}, {"worker0"}};
  const std::string line = ToJsonLine(run);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = ParseResults(line + "\n\n" + line + "\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 2u);
  // The writer names every field, so equal lines mean equal results.
  EXPECT_EQ(ToJsonLine((*parsed)[1]), line);
  EXPECT_EQ((*parsed)[0].straggler->phase, "compute");
  EXPECT_EQ((*parsed)[0].environment.versions.at("gRPC"), "1.51.1");
  EXPECT_EQ((*parsed)[0].loss_curve.size(), 200u);
  EXPECT_EQ((*parsed)[0].samples_per_second, run.samples_per_second);
  EXPECT_EQ((*parsed)[0].notes, run.notes);
  EXPECT_EQ((*parsed)[0].network.probe[0].clock_offset_s, -3600.25);
  EXPECT_EQ((*parsed)[0].network.probe[1].clock_error_s, std::nullopt);
}

TEST(ResultTest, HasTheAgreedNames) {
  const std::string line = ToJsonLine(MadeUpRun("ps_sync", 2, 0, 35000, .88));
  EXPECT_THAT(line, StartsWith("{\"job_name\":\"fashion-mlp\""));
  for (const char* name : {"strategy",
                           "workers",
                           "servers",
                           "repetition",
                           "samples_per_second",
                           "step_ms_median",
                           "step_ms_p95",
                           "communication_share",
                           "hidden_ms",
                           "exposed_ms",
                           "wait_ms",
                           "bytes_sent_per_step",
                           "bytes_received_per_step",
                           "wire_bytes_sent_per_step",
                           "staleness",
                           "test_accuracy",
                           "time_to_target_s",
                           "machine_seconds",
                           "peak_rss_bytes",
                           "resolved_job",
                           "environment",
                           "git_commit",
                           "rerun_command"}) {
    EXPECT_THAT(line, HasSubstr("\"" + std::string(name) + "\":"));
  }
}

TEST(ResultTest, FieldsThatOlderLinesLackKeepTheirDefaults) {
  RunResult run = MadeUpRun("single", 0, 0, 41000, .5);
  run.planned_runs = 18;
  run.resume_time = "2026-03-02T08:00:00Z";
  run.network.probe = {{"10.0.0.1", 117e6, 116e6, 0, 120, 2, .5}};
  const std::string line = ToJsonLine(run);
  const auto whole = ParseResults(line);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)[0].planned_runs, 18);
  EXPECT_EQ((*whole)[0].resume_time, "2026-03-02T08:00:00Z");
  const auto older = ParseResults(
      Replaced(line, "\"planned_runs\":18,\"resume_time\":\"2026-03-02T08:00:00Z\",", ""));
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ((*older)[0].planned_runs, 0);
  EXPECT_EQ((*older)[0].resume_time, "");
  const auto without_clocks =
      ParseResults(Replaced(line, ",\"clock_offset_s\":2.0,\"clock_error_s\":0.5", ""));
  ASSERT_TRUE(without_clocks.ok()) << without_clocks.status();
  EXPECT_EQ((*without_clocks)[0].network.probe[0].clock_offset_s, std::nullopt);
}

TEST(ResultTest, WhatIsNotThereIsNull) {
  RunResult run = MadeUpRun("single", 0, 0, 41000, .5);
  run.test_accuracy.reset();
  run.loss_curve[0].loss = std::nan("");
  const std::string line = ToJsonLine(run);
  EXPECT_THAT(line, HasSubstr("\"time_to_target_s\":null"));
  EXPECT_THAT(line, HasSubstr("\"test_accuracy\":null"));
  const auto parsed = ParseResults(line);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_FALSE((*parsed)[0].time_to_target_s.has_value());
  EXPECT_FALSE((*parsed)[0].straggler.has_value());
  EXPECT_TRUE(std::isnan((*parsed)[0].loss_curve[0].loss));
  EXPECT_FALSE(std::isnan((*parsed)[0].loss_curve[1].loss));
}

TEST(ResultTest, StrangeTextSurvives) {
  RunResult run = MadeUpRun("single", 0, 0, 41000, .88);
  run.failure = "line one\nline \"two\" \\ \xff end";
  const auto parsed = ParseResults(ToJsonLine(run));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT((*parsed)[0].failure, StartsWith("line one\nline \"two\" \\ "));
  EXPECT_FALSE((*parsed)[0].ok());
}

TEST(ResultTest, NothingGivesNoResults) {
  const auto parsed = ParseResults("\n \n");
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->empty());
}

TEST(ResultTest, UnknownFieldsAreIgnored) {
  const std::string line = ToJsonLine(MadeUpRun("single", 0, 0, 41000, .88));
  EXPECT_TRUE(ParseResults(Replaced(line, "{", "{\"later\":[1,{}],")).ok());
}

TEST(ResultTest, ErrorsNameTheLineAndTheField) {
  const std::string line = ToJsonLine(MadeUpRun("ps_sync", 2, 0, 35000, .88));
  EXPECT_EQ(ErrorOf(line + "\n" + line.substr(0, 100)),
            "results line 2: not one JSON object, but the beginning of one; fix: --resume=FOLDER "
            "leaves it out");
  EXPECT_EQ(
      ErrorOf(line.substr(0, 100) + "\n" + line),
      "results line 1: not one JSON object; fix: take the line out, and --resume=FOLDER makes "
      "its run");
  EXPECT_THAT(ErrorOf("[]"), StartsWith("results line 1: not one JSON object"));
  EXPECT_EQ(ErrorOf("\n{}"), "results line 2: field 'job_name' is missing");
  EXPECT_EQ(ErrorOf(Replaced(line, "\"workers\":4", "\"workers\":\"four\"")),
            "results line 1: field 'workers': found \"four\", expected an integer of 64 bits");
  EXPECT_EQ(ErrorOf(Replaced(line, "\"workers\":4", "\"workers\":4.5")),
            "results line 1: field 'workers': found 4.5, expected an integer of 64 bits");
  EXPECT_EQ(ErrorOf(Replaced(line, "\"workers\":4", "\"workers\":18446744073709551615")),
            "results line 1: field 'workers': found 18446744073709551615, expected an integer of "
            "64 bits");
  EXPECT_EQ(ErrorOf(Replaced(line, "\"workers\":4", "\"workers\":0")),
            "results line 1: field 'workers': found 0");
  EXPECT_EQ(ErrorOf(Replaced(line, "\"strategy\":\"ps_sync\"", "\"strategy\":\"\"")),
            "results line 1: field 'strategy' is empty");
  EXPECT_EQ(ErrorOf(Replaced(line, "\"phase\":\"compute\"", "\"phase\":null")),
            "results line 1: field 'straggler.phase': found null, expected a string");
  EXPECT_EQ(ErrorOf(Replaced(line, "\"host\":\"127.0.0.1\"", "\"host\":7")),
            "results line 1: field 'worker_figures[0].host': found 7, expected a string");
  EXPECT_THAT(ErrorOf(Replaced(line, "\"gRPC\":\"1.51.1\"", "\"gRPC\":{}")),
              HasSubstr("field 'environment.versions.gRPC'"));
  EXPECT_THAT(ErrorOf(Replaced(line, "\"loss_curve\":[", "\"loss_curve\":[1,")),
              HasSubstr("field 'loss_curve[0]': found 1, expected an object"));
}

}  // namespace
}  // namespace crossover::experiments
