#include "experiments/html_style.h"

namespace crossover::experiments {

StrategyLook LookOf(const std::string& strategy) {
  if (strategy == "single") return {"#222222", "none", "circle"};
  if (strategy == "ps_sync") return {"#0072b2", "7 3", "square"};
  if (strategy == "ps_ssp") return {"#56b4e9", "3 3", "diamond"};
  if (strategy == "ps_async") return {"#d55e00", "9 3 2 3", "triangle"};
  if (strategy == "allreduce_ring") return {"#009e73", "none", "cross"};
  if (strategy == "local_sgd") return {"#cc79a7", "5 2", "star"};
  return {"#777777", "1 2", "circle"};
}

const char* PhaseColor(const std::string& phase) {
  if (phase == "compute") return "#4a5a6a";
  if (phase == "transfer" || phase == "push" || phase == "reduce") return "#e69f00";
  if (phase == "pull") return "#f5c95c";
  if (phase == "wait") return "url(#hatch)";
  if (phase == "data") return "#9fc5dd";
  if (phase == "apply") return "#8a63a8";
  return "#d9d9d9";
}

const char kStyleSheet[] = R"css(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1.2rem 1rem 3rem; background: #fff;
  color: #1b1f24;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .8rem; border-top: 1px solid #d8dde3; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p { margin: .4rem 0; max-width: 46rem; }
a { color: #00568a; }
.sub, figcaption, .note { color: #55606b; font-size: .86rem; }
.verdict { border-left: 4px solid #0072b2; background: #f3f7fa; padding: .6rem 1rem;
  margin: 1rem 0; }
.verdict p { max-width: none; }
.verdict p:first-child { font-weight: 600; }
.failures { border-left: 4px solid #d55e00; background: #fdf3ec; padding: .6rem 1rem;
  margin: 1rem 0; }
.caveats { font-size: .9rem; color: #3b444d; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
figure { margin: 1rem 0 1.6rem; break-inside: avoid; }
figcaption { margin: .2rem 0 .5rem; max-width: 46rem; }
svg { display: block; overflow: visible; }
.bars { display: grid; grid-template-columns: 8.5rem 1fr 13rem; gap: .25rem .7rem;
  align-items: center; }
.bars .name, .bars .value { font-size: .88rem; }
.bars .value { font-variant-numeric: tabular-nums; }
.bars .scale { grid-column: 2; display: flex; justify-content: space-between;
  border-top: 1px solid #9aa4ae;
  color: #55606b; font-size: .78rem; }
.legend { display: flex; flex-wrap: wrap; gap: .15rem 1rem; font-size: .84rem;
  margin: .3rem 0 .5rem; padding: 0;
  list-style: none; }
.legend li { display: flex; align-items: center; gap: .4rem; white-space: nowrap; }
.charts { display: grid; grid-template-columns: 1fr 1fr; gap: 0 2rem; }
.plot { display: grid; grid-template-columns: 3rem 1fr; padding-right: 1rem; }
.plot .y, .plot .x { position: relative; color: #55606b; font-size: .76rem; }
.plot .y span { position: absolute; right: .4rem; transform: translateY(-50%); }
.plot .x { grid-column: 2; height: 2.3rem; }
.plot .x span { position: absolute; top: .2rem; transform: translateX(-50%); }
.plot .x em { position: absolute; top: 1.2rem; left: 0; right: 0; text-align: center;
  font-style: normal; }
.lane { display: grid; grid-template-columns: 4.5rem 1fr; align-items: center; font-size: .8rem;
  margin: .1rem 0; }
.table { overflow-x: auto; margin: .3rem 0 1rem; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; vertical-align: top;
  border-bottom: 1px solid #e3e7eb; }
th { font-weight: 600; vertical-align: bottom; }
th[title] { text-decoration: underline dotted #9aa4ae; text-underline-offset: 3px; cursor: help; }
th:first-child, td:first-child { text-align: left; white-space: nowrap; }
.text th, .text td { text-align: left; overflow-wrap: anywhere; }
td small { display: block; color: #55606b; white-space: nowrap; }
pre { background: #f5f6f8; padding: .7rem .9rem; overflow-x: auto; font-size: .8rem;
  line-height: 1.4; }
summary { cursor: pointer; font-weight: 600; margin: .8rem 0 .3rem; }
dl { font-size: .86rem; }
dt { font-weight: 600; }
dd { margin: 0 0 .4rem; color: #3b444d; }
@media (max-width: 760px) {
  .charts { grid-template-columns: 1fr; }
  .bars { grid-template-columns: 1fr; gap: 0; }
  .bars .name { margin-top: .5rem; font-weight: 600; }
  .bars .scale { grid-column: 1; margin-top: .3rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11px; }
  .table { overflow: visible; }
  pre { white-space: pre-wrap; }
  details::details-content { content-visibility: visible; block-size: auto; }
  svg, .verdict, .failures { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace crossover::experiments
