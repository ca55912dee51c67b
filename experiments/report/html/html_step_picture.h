// One recorded step of all ranks of each strategy's typical run, on aligned clocks. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STEP_PICTURE_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STEP_PICTURE_H_

#include <string>

#include "experiments/results/summary.h"

namespace crossover::experiments {

// "" if no typical run kept one.
std::string StepPictures(const Study& study);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_STEP_PICTURE_H_
