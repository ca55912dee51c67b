// The texts that report.html is made with, embedded at build time: the page's own style
// sheet and script, and uPlot (third_party/uplot), which draws the curves. Each has the hash
// by which the page's Content-Security-Policy lets it run, so that no other script can.
// Constants.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_ASSETS_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_ASSETS_H_

namespace crossover::experiments {

inline constexpr char kUplotVersion[] = "1.6.32";

extern const char kPageStyle[];
extern const char kPageStyleHash[];
extern const char kPageScript[];
extern const char kPageScriptHash[];
extern const char kUplotScript[];
extern const char kUplotScriptHash[];
extern const char kUplotStyle[];
extern const char kUplotStyleHash[];
extern const char kUplotLicense[];
extern const char kUplotLicenseHash[];

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_ASSETS_H_
