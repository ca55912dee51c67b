#include "experiments/report/html/html_step_picture.h"

#include "absl/strings/str_cat.h"
#include "experiments/report/html/html_axis.h"
#include "experiments/report/html/html_element.h"
#include "experiments/report/html/html_stacked_bar.h"
#include "experiments/report/html/html_style.h"
#include "experiments/results/format.h"

namespace crossover::experiments {
namespace {

bool Communicates(const std::string& kind) {
  return kind == "push" || kind == "pull" || kind == "reduce";
}

std::string Lane(const RunResult& run, int64_t rank, const Axis& axis) {
  std::string out =
      "<svg width=\"100%\" height=\"26\" aria-hidden=\"true\"><rect width=\"100%\" height=\"26\" "
      "fill=\"#f3f4f6\"/>";
  for (const PictureSpan& span : run.step_picture.spans) {
    if (span.rank != rank || !(span.end_ms > span.start_ms)) continue;
    std::string title =
        absl::StrCat(span.kind, " ", FormatNumber(span.end_ms - span.start_ms), " ms");
    if (span.op >= 0) absl::StrAppend(&title, ", bucket ", span.op);
    absl::StrAppend(&out, Rect(axis.At(span.start_ms), (span.end_ms - span.start_ms) / axis.high,
                               Communicates(span.kind) ? 14 : 1, 11, PhaseColor(span.kind), title));
  }
  return out + "</svg>";
}

std::string Picture(const RunResult& run) {
  const Axis axis = MakeAxis(0, run.step_picture.duration_ms, 5);
  std::string rows;
  for (int64_t rank = 0; rank < run.workers; ++rank) {
    absl::StrAppend(&rows, BarRow(absl::StrCat("worker ", rank), Lane(run, rank, axis), ""));
  }
  return absl::StrCat("<figure class=\"picture\"><h4>", StrategyNameHtml(run.strategy),
                      "</h4><figcaption>Step ", run.step_picture.step, " took ",
                      FormatNumber(run.step_picture.duration_ms),
                      " ms from the first start to the last end.</figcaption>\n",
                      BarChart(axis, "ms", rows), "</figure>\n");
}

}  // namespace

std::string StepPictures(const Study& study) {
  std::string pictures;
  for (const StrategySummary& strategy : study.strategies) {
    const RunResult* run = TypicalRun(strategy);
    if (run == nullptr || run->step_picture.step < 0 || !(run->step_picture.duration_ms > 0)) {
      continue;
    }
    absl::StrAppend(&pictures, Picture(*run));
  }
  if (pictures.empty()) return "";
  return absl::StrCat(
      Note("One step is not a mean: of those that all ranks kept, in the middle of the run, the "
           "one with the most communication. Upper row of a worker: data, compute, apply; lower "
           "row: communication. Each picture has an axis of its own."),
      PhaseLegend({{"data", "data"},
                   {"compute", "compute"},
                   {"push or reduce", "push"},
                   {"pull", "pull"},
                   {"apply", "apply"}}),
      pictures);
}

}  // namespace crossover::experiments
