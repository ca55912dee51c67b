#include "experiments/report/html/html_sections.h"

namespace crossover::experiments {
namespace {

constexpr PageSection kSections[] = {
    {"verdict", nullptr, VerdictSection},
    {"throughput", "Throughput", ThroughputSection},
    {"step", "Where a step's time goes", StepSection},
    {"prediction", "Measured and predicted", PredictionSection},
    {"curves", "Loss and accuracy", CurvesSection},
    {"learning", "What was learnt", LearningSection},
    {"tuning", "Search for the learning rate", TuningSection},
    {"staleness", "Staleness", StalenessSection},
    {"ranks", "Each rank", RanksSection},
    {"resources", "Equal resources and cost", ResourcesSection},
    {"bytes", "Bytes", BytesSection},
    {"runs", "Every run", RunsSection},
    {"environment", "Environment, job and rerun", EnvironmentSection},
};

}  // namespace

std::span<const PageSection> PageSections() { return kSections; }

}  // namespace crossover::experiments
