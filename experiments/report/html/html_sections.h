// The sections of report.html: each a function of one study in a small file of its own, and the
// table that puts them in order. Pure.
//
// To add one: a file html_NAME.cc with its function, its declaration here, a line in the table
// of html_sections.cc, the file in BUILD, and for each new figure a row in report_metrics.cc.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_SECTIONS_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_SECTIONS_H_

#include <span>
#include <string>

#include "experiments/results/summary.h"

namespace crossover::experiments {

struct PageSection {
  const char* id;     // in links, behind the study's prefix
  const char* title;  // null: no heading and no place among the page's links
  // HTML without the heading; "" where the study has nothing for it, which leaves it out.
  std::string (*write)(const Study& study);
};

std::span<const PageSection> PageSections();

// What wins, what that does not say, which runs failed.
std::string VerdictSection(const Study& study);
// Samples/s with intervals and every repetition, and which differences exceed noise.
std::string ThroughputSection(const Study& study);
// The mean step taken apart, its figures, and one step of all ranks.
std::string StepSection(const Study& study);
// Loss and accuracy against time, samples and bytes. Static drawings; with scripts, explorable.
std::string CurvesSection(const Study& study);
// Accuracy at the end, the way to the target, effective learning rates.
std::string LearningSection(const Study& study);
// What was tried before the measured runs, and which rate each strategy was given.
std::string TuningSection(const Study& study);
std::string StalenessSection(const Study& study);
// The mean step and share beside those that the cost formulas predict.
std::string PredictionSection(const Study& study);
// Each worker and server of the typical runs, the straggler named.
std::string RanksSection(const Study& study);
// What each strategy was given and what the target cost.
std::string ResourcesSection(const Study& study);
std::string BytesSection(const Study& study);
// Every run, failed ones too.
std::string RunsSection(const Study& study);
// Machine, versions, resolved job, rerun command.
std::string EnvironmentSection(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_SECTIONS_H_
