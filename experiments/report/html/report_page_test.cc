// report.html as a reader meets it: opened in a browser, its figures read off the page and
// compared with results.jsonl, in which they are looked up without our own code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "experiments/launch/child_process.h"
#include "experiments/launch/signal_waiter.h"
#include "experiments/report/report_folder.h"
#include "experiments/report/report_metrics.h"
#include "experiments/results/result_fixture.h"
#include "os/files.h"

namespace crossover::experiments {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kBrowser[] = "/usr/bin/chromium";

// An element that shows a figure: its attributes, and the text in front of its first child.
struct FigureElement {
  std::map<std::string, std::string> attributes;
  std::string text;

  bool has(const std::string& name) const { return attributes.count(name) > 0; }
  double number(const std::string& name) const {
    double value = std::nan("");
    EXPECT_TRUE(absl::SimpleAtod(attributes.at(name), &value)) << attributes.at(name);
    return value;
  }
  std::string Describe() const {
    std::string out;
    for (const auto& [name, value] : attributes) {
      if (name.rfind("data-", 0) == 0) absl::StrAppend(&out, name, "=", value, " ");
    }
    return out;
  }
};

// Those with data-metric. A browser's own DOM: attributes are quoted and escaped.
std::vector<FigureElement> FiguresOf(const std::string& dom) {
  std::vector<FigureElement> figures;
  for (size_t at = dom.find(" data-metric=\""); at != std::string::npos;
       at = dom.find(" data-metric=\"", at + 1)) {
    FigureElement& figure = figures.emplace_back();
    size_t i = dom.rfind('<', at), end = dom.find('>', at);
    const std::string tag = dom.substr(i, end - i);
    for (size_t name = tag.find(' '); name != std::string::npos;) {
      const size_t value = tag.find("=\"", name), close = tag.find('"', value + 2);
      figure.attributes[tag.substr(name + 1, value - name - 1)] =
          tag.substr(value + 2, close - value - 2);
      name = tag.find(' ', close);
    }
    figure.text = dom.substr(end + 1, dom.find('<', end) - end - 1);
  }
  return figures;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

class ReportPage : public testing::Test {
 protected:
  ReportPage() {
    folder_ = absl::StrCat(testing::TempDir(), "/page-",
                           testing::UnitTest::GetInstance()->current_test_info()->name());
    EXPECT_TRUE(os::MakeDirectory(folder_).ok());
  }

  void SetUp() override {
    ASSERT_EQ(access(kBrowser, X_OK), 0)
        << kBrowser << " is missing; fix: tools/setup --tests installs it";
  }

  // Writes results.jsonl and the reports of it.
  void Make(const std::string& jsonl) {
    ASSERT_TRUE(os::WriteFile(folder_ + "/results.jsonl", jsonl).ok());
    const auto results = RemakeReports(folder_);
    ASSERT_TRUE(results.ok()) << results.status();
    std::istringstream lines(jsonl);
    for (std::string line; std::getline(lines, line);) lines_.push_back(Json::parse(line));
  }

  // The document after its scripts have run; what the browser said in `log_`.
  std::string Open(const std::string& page) {
    const std::string command = absl::StrCat(
        "exec ", kBrowser,
        " --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files"
        " --enable-logging=stderr --user-data-dir=",
        folder_, "/profile --dump-dom file://", folder_, "/", page, " >", folder_, "/dom 2>",
        folder_, "/browser.log");
    auto browser =
        ChildProcess::Start({.arguments = {"/bin/sh", "-c", command},
                             .log_path = folder_ + "/sh.log",
                             .network_namespace = "",
                             .environment = {{"HOME", folder_}, {"XDG_CONFIG_HOME", folder_}}});
    EXPECT_TRUE(browser.ok()) << browser.status();
    std::optional<ExitStatus> ended;
    for (int i = 0; i < 1200 && !(ended = browser->Poll()).has_value(); ++i) signals_.Wait(.1);
    EXPECT_TRUE(ended.has_value()) << "the browser still ran after two minutes";
    if (!ended.has_value()) browser->Signal(SIGKILL);
    log_ = os::ReadFile(folder_ + "/browser.log").value_or("");
    EXPECT_TRUE(ended.has_value() && ended->ok()) << log_;
    return os::ReadFile(folder_ + "/dom").value_or("");
  }

  // What results.jsonl has for a figure of one run; NaN if nothing.
  static double Lookup(const Json& run, const FigureElement& figure) {
    const std::string& key = figure.attributes.at("data-metric");
    if (key == "sent_over_formula") {
      const double formula = run["bytes_formula_per_step"];
      return formula > 0 ? run["bytes_sent_per_step"].get<double>() / formula : std::nan("");
    }
    if (key == "busiest_server_apply_ms") {
      double busiest = std::nan("");
      for (const Json& server : run["server_figures"]) {
        busiest = std::fmax(busiest, server["apply_ms_per_step"].get<double>());
      }
      return busiest;
    }
    if (key == "staleness.histogram") {
      double all = 0;
      for (const Json& count : run["staleness"]["histogram"]) all += count.get<double>();
      const auto slot = static_cast<size_t>(figure.number("data-slot"));
      return run["staleness"]["histogram"][slot].get<double>() / all;
    }
    Json at = run;
    std::istringstream path(key);
    for (std::string name; std::getline(path, name, '.');) {
      at = at[name];
      if (at.is_array()) at = at[static_cast<size_t>(figure.number("data-rank"))];
    }
    // A run without servers has no staleness and no shards, whatever its line holds.
    const bool of_servers = key.rfind("staleness.", 0) == 0 || key == "shard_imbalance";
    if (!at.is_number() || (of_servers && run["servers"] == 0)) return std::nan("");
    return at.get<double>();
  }

  // Repetition -> value, of runs that succeeded.
  std::map<int, double> ByRepetition(const std::string& strategy, const FigureElement& figure) {
    std::map<int, double> values;
    for (const Json& run : lines_) {
      if (run["strategy"] != strategy || run["failure"] != "") continue;
      const double value = Lookup(run, figure);
      if (!std::isnan(value)) values[run["repetition"]] = value;
    }
    return values;
  }

  std::vector<double> Expected(const FigureElement& figure) {
    const std::string& strategy = figure.attributes.at("data-strategy");
    const std::string& key = figure.attributes.at("data-metric");
    FigureElement speed;
    speed.attributes["data-metric"] = "samples_per_second";
    std::vector<double> values;
    if (figure.has("data-repetition")) {
      const auto all = ByRepetition(strategy, figure);
      const auto found = all.find(static_cast<int>(figure.number("data-repetition")));
      if (found != all.end()) values.push_back(found->second);
    } else if (key == "speed_up") {
      std::vector<double> own, single;
      for (const auto& [r, value] : ByRepetition(strategy, speed)) own.push_back(value);
      for (const auto& [r, value] : ByRepetition("single", speed)) single.push_back(value);
      values.push_back(Median(own) / Median(single));
    } else if (key == "paired_difference") {
      const auto reference = ByRepetition(figure.attributes.at("data-reference"), speed);
      for (const auto& [r, value] : ByRepetition(strategy, speed)) {
        if (reference.count(r) > 0) values.push_back(value - reference.at(r));
      }
    } else {
      for (const auto& [r, value] : ByRepetition(strategy, figure)) values.push_back(value);
    }
    return values;
  }

  void Check(const FigureElement& figure) {
    const std::vector<double> values = Expected(figure);
    ASSERT_FALSE(values.empty()) << figure.Describe();
    const auto near = [](double value) { return 1e-9 * std::max(1.0, std::abs(value)); };
    const double median = Median(values);
    EXPECT_NEAR(figure.number("data-value"), median, near(median)) << figure.Describe();
    if (figure.has("data-low") && values.size() < 6) {
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      EXPECT_NEAR(figure.number("data-low"), *low, near(*low)) << figure.Describe();
      EXPECT_NEAR(figure.number("data-high"), *high, near(*high)) << figure.Describe();
    }
    // What a reader sees, if this element holds the text itself.
    const std::string& key = figure.attributes.at("data-metric");
    if (figure.text.empty() || key == "straggler.rank") return;
    EXPECT_THAT(figure.text, testing::StartsWith(MetricOf(key).format(median)))
        << figure.Describe();
  }

  // All of them; returns the keys seen.
  std::set<std::string> CheckFigures(const std::string& dom, size_t at_least) {
    std::set<std::string> keys;
    const std::vector<FigureElement> figures = FiguresOf(dom);
    EXPECT_GE(figures.size(), at_least);
    for (const FigureElement& figure : figures) {
      // Worked out from a whole study by formulas with tests of their own.
      if (figure.attributes.at("data-metric").rfind("predicted_", 0) == 0) continue;
      Check(figure);
      keys.insert(figure.attributes.at("data-metric"));
    }
    return keys;
  }

  void ExpectNothingFetchedAndScriptsRan(const std::string& dom) {
    for (const char* reference : {"src=\"http", "href=\"http", "src=\"//", "href=\"//", "@import",
                                  "url(http", "url(\"http", "<link", "<iframe", "<img"}) {
      EXPECT_TRUE(dom.find(reference) == std::string::npos) << reference;
    }
    EXPECT_THAT(log_, Not(HasSubstr("CONSOLE"))) << log_;  // errors and refusals
    EXPECT_TRUE(dom.find("class=\"u-wrap\"") != std::string::npos) << "uPlot has not drawn";
  }

  std::string folder_;
  std::string log_;
  std::vector<Json> lines_;
  SignalWaiter signals_;
};

std::string Lines(const std::vector<RunResult>& results) {
  std::string jsonl;
  for (const RunResult& run : results) absl::StrAppend(&jsonl, ToJsonLine(run), "\n");
  return jsonl;
}

TEST_F(ReportPage, DefaultComparisonAgreesWithItsResults) {
  std::vector<RunResult> runs = MadeUpComparison(3);
  for (RunResult& run : runs) {
    if (run.strategy == "ps_async") run.late_pushes = 12;  // a column that is shown where some are
  }
  Make(Lines(runs));
  EXPECT_LT(os::ReadFile(folder_ + "/report.html")->size(), 1'000'000u);
  const std::string dom = Open("report.html");
  const std::set<std::string> keys = CheckFigures(dom, 600);
  ExpectNothingFetchedAndScriptsRan(dom);
  for (const Metric& metric : Metrics()) {
    if (metric.figure != nullptr && std::string(metric.key) != "communication_ms") {
      EXPECT_EQ(keys.count(metric.key), 1u) << metric.key << " is nowhere on the page";
    }
  }
}

TEST_F(ReportPage, MeasuredRunsAgreeWithTheirResults) {
  const auto jsonl = os::ReadFile("experiments/report/html/testdata/results.jsonl");
  ASSERT_TRUE(jsonl.ok()) << jsonl.status();
  Make(*jsonl);
  const std::string dom = Open("report.html");
  CheckFigures(dom, 200);
  ExpectNothingFetchedAndScriptsRan(dom);
}

TEST_F(ReportPage, SixRepetitionsAndAFailedRunAgreeToo) {
  std::vector<RunResult> results = MadeUpComparison(6);
  results[8].failure = "worker 2 was lost";
  Make(Lines(results));
  const std::string dom = Open("report.html");
  CheckFigures(dom, 600);
  for (const char* part : {"worker 2 was lost", "bootstrap 95% interval of 6 repetitions"}) {
    EXPECT_TRUE(dom.find(part) != std::string::npos) << part;
  }
}

// Frames of these widths, and a script that notes how wide the page wants to be.
TEST_F(ReportPage, FitsAPhoneWithoutScrollingSideways) {
  Make(Lines(MadeUpComparison(3)));
  std::string frames;
  for (const char* width : {"400", "800", "1200"}) {
    absl::StrAppend(&frames, "<iframe src=\"report.html\" style=\"width:", width,
                    "px;border:0\" width=\"", width,
                    "\" onload=\"document.body.append(' wants:' + this.width + '/' + "
                    "this.contentDocument.documentElement.scrollWidth)\"></iframe>");
  }
  ASSERT_TRUE(os::WriteFile(folder_ + "/widths.html",
                            absl::StrCat("<!DOCTYPE html><body>", frames, "</body>"))
                  .ok());
  const std::string dom = Open("widths.html");
  for (const char* fits : {" wants:400/400", " wants:800/800", " wants:1200/1200"}) {
    EXPECT_THAT(dom, HasSubstr(fits));
  }
}

}  // namespace
}  // namespace crossover::experiments
