// report.html: the whole comparison on one page that needs nothing else: no network, no
// fonts, no other file. Readable on a phone, in print and without scripts. Pure; every text is
// escaped, and no script but our own two may run.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_REPORT_HTML_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_REPORT_HTML_H_

#include <string>
#include <vector>

#include "experiments/results/result.h"

namespace crossover::experiments {

// Of any number of results, failed ones too; of none it says so.
std::string ReportHtml(const std::vector<RunResult>& results);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_REPORT_HTML_H_
