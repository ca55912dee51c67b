#include "experiments/results/curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace crossover::experiments {
namespace {

// A picture with more spans cannot be read, and must not swell results.jsonl.
constexpr size_t kPictureSpans = 2000;

double SamplesOf(const StepRow& row) {
  return static_cast<double>(row.samples) * static_cast<double>(row.stands_for_steps);
}

double SamplesBy(const WorkerTrack& worker, int64_t time_ns) {
  double samples = 0;
  for (size_t i = 0; i < worker.rows.size(); ++i) {
    const StepRow& row = worker.rows[i];
    if (row.interval.start_ns >= time_ns) break;
    // A row that stands for several steps reaches to the next row's start.
    const bool last = i + 1 == worker.rows.size();
    const int64_t end_ns = last || row.stands_for_steps == 1 ? row.interval.end_ns
                                                             : worker.rows[i + 1].interval.start_ns;
    const double length_ns = static_cast<double>(end_ns - row.interval.start_ns);
    const double passed_ns = static_cast<double>(time_ns - row.interval.start_ns);
    samples += SamplesOf(row) * (length_ns > 0 ? std::min(1.0, passed_ns / length_ns) : 1.0);
  }
  return samples;
}

double SecondsSinceStart(const AlignedRun& run, int64_t time_ns) {
  return static_cast<double>(time_ns - run.training.start_ns) / kNsPerS;
}

bool IsCommunication(const std::string& kind) {
  return kind == "push" || kind == "pull" || kind == "reduce";
}

// Of the steps whose spans every worker kept, the last with the most communication: under
// LocalSGD most steps have none. -1 if there is no such step.
int64_t PicturedStep(const AlignedRun& run) {
  struct Kept {
    std::set<int> ranks;
    int64_t communication_spans = 0;
  };
  std::map<int64_t, Kept> steps;
  for (const WorkerTrack& worker : run.workers) {
    for (const proto::Span& span : worker.report->worker().sample_spans()) {
      Kept& kept = steps[span.step()];
      kept.ranks.insert(worker.rank);
      if (IsCommunication(span.kind())) ++kept.communication_spans;
    }
  }
  int64_t pictured = -1, most = -1;
  for (const auto& [step, kept] : steps) {
    if (kept.ranks.size() < run.workers.size() || kept.communication_spans < most) continue;
    pictured = step;
    most = kept.communication_spans;
  }
  return pictured;
}

}  // namespace

double SamplesBy(const AlignedRun& run, int64_t time_ns) {
  double samples = 0;
  for (const WorkerTrack& worker : run.workers) samples += SamplesBy(worker, time_ns);
  return samples;
}

std::vector<LossPoint> LossCurve(const AlignedRun& run) {
  std::vector<const StepRow*> rows;
  for (const WorkerTrack& worker : run.workers) {
    for (const StepRow& row : worker.rows) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const StepRow* a, const StepRow* b) {
    return a->interval.end_ns < b->interval.end_ns;
  });
  // Whole steps of all workers to a window, so that in a synchronous run every rank
  // counts the same.
  const size_t workers = run.workers.size();
  const size_t steps = (rows.size() + workers - 1) / workers;
  const size_t window = (steps + kCurvePoints - 1) / kCurvePoints * workers;
  std::vector<LossPoint> curve;
  double samples_before = 0;
  for (size_t begin = 0; begin < rows.size(); begin += window) {
    const size_t end = std::min(begin + window, rows.size());
    LossPoint point;
    double samples = 0, weighted_loss = 0;
    for (size_t i = begin; i < end; ++i) {
      point.step = std::max(point.step, rows[i]->step);
      samples += SamplesOf(*rows[i]);
      weighted_loss += SamplesOf(*rows[i]) * rows[i]->loss;
    }
    samples_before += samples;
    point.time_s = SecondsSinceStart(run, rows[end - 1]->interval.end_ns);
    point.samples = std::llround(samples_before);
    point.loss = samples > 0 ? weighted_loss / samples : std::nan("");
    if (!std::isfinite(point.loss)) point.loss = std::nan("");
    curve.push_back(point);
  }
  return curve;
}

std::vector<AccuracyPoint> AccuracyCurve(const AlignedRun& run) {
  std::vector<AccuracyPoint> curve;
  for (const WorkerTrack& worker : run.workers) {
    for (const proto::Evaluation& evaluation : worker.report->worker().evaluations()) {
      const int64_t time_ns = worker.training.start_ns + evaluation.train_time_ns();
      AccuracyPoint point;
      point.step = evaluation.step();
      point.time_s = SecondsSinceStart(run, time_ns);
      point.samples = std::llround(SamplesBy(run, time_ns));
      point.accuracy = evaluation.accuracy();
      point.loss = evaluation.loss();
      curve.push_back(point);
    }
  }
  std::stable_sort(curve.begin(), curve.end(), [](const AccuracyPoint& a, const AccuracyPoint& b) {
    return a.time_s < b.time_s;
  });
  return curve;
}

StepPicture PictureOfStep(const AlignedRun& run) {
  StepPicture picture;
  picture.step = PicturedStep(run);
  if (picture.step < 0) return picture;
  int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
  for (const WorkerTrack& worker : run.workers) {
    const int64_t offset_ns = worker.report->clock_offset_ns();
    for (const proto::Span& span : worker.report->worker().sample_spans()) {
      if (span.step() != picture.step) continue;
      start_ns = std::min(start_ns, span.start_ns() + offset_ns);
      end_ns = std::max(end_ns, span.end_ns() + offset_ns);
    }
  }
  picture.duration_ms = static_cast<double>(end_ns - start_ns) / kNsPerMs;
  for (const WorkerTrack& worker : run.workers) {
    const int64_t origin_ns = start_ns - worker.report->clock_offset_ns();
    for (const proto::Span& span : worker.report->worker().sample_spans()) {
      if (span.step() != picture.step || picture.spans.size() >= kPictureSpans) continue;
      picture.spans.push_back({worker.rank, span.kind(), span.op(),
                               static_cast<double>(span.start_ns() - origin_ns) / kNsPerMs,
                               static_cast<double>(span.end_ns() - origin_ns) / kNsPerMs});
    }
  }
  return picture;
}

}  // namespace crossover::experiments
