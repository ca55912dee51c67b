#include "experiments/report/report_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/report/html/report_html.h"
#include "experiments/report/report_markdown.h"
#include "experiments/results/result_fixture.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

using ::testing::HasSubstr;

std::string Folder(const std::string& name) {
  const std::string folder = testing::TempDir() + "/" + name;
  EXPECT_TRUE(os::MakeDirectory(folder).ok());
  return folder;
}

TEST(RemakeReportsTest, FromResultsAlone) {
  const std::string folder = Folder("remake");
  const std::vector<RunResult> results = MadeUpComparison(2);
  for (const RunResult& run : results) {
    ASSERT_TRUE(os::AppendLine(folder + "/results.jsonl", ToJsonLine(run)).ok());
  }
  const auto remade = RemakeReports(folder);
  ASSERT_TRUE(remade.ok()) << remade.status();
  EXPECT_EQ(remade->size(), results.size());
  EXPECT_TRUE(os::ReadFile(folder + "/report.html").value_or("") == ReportHtml(results));
  EXPECT_TRUE(os::ReadFile(folder + "/report.md").value_or("") == ReportMarkdown(results));
}

TEST(RemakeReportsTest, SaysWhatCannotBeRead) {
  EXPECT_THAT(std::string(RemakeReports(Folder("empty")).status().message()),
              HasSubstr("results.jsonl"));
  const std::string folder = Folder("damaged");
  ASSERT_TRUE(os::WriteFile(folder + "/results.jsonl", "{\"steps\": 1\n").ok());
  const absl::Status status = RemakeReports(folder).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("damaged/results.jsonl: results line 1"));
  EXPECT_FALSE(os::ReadFile(folder + "/report.html").ok());
}

}  // namespace
}  // namespace crossover::experiments
