// Axes of the charts. Drawings are inline SVG whose positions are percentages, so that they fit
// any width while their text keeps its size; labels are HTML beside them. Pure.
#ifndef CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_AXIS_H_
#define CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_AXIS_H_

#include <string>
#include <vector>

namespace crossover::experiments {

// "12.5%"
std::string Percent(double part);

// 0 for what is negative or not finite: a length that a chart can draw.
double Drawable(double value);

// From `low` to `high`; the ticks lie within, on multiples of 1, 2 or 5 times a power of ten. The
// axis ends where the data do, so no space is lost.
struct Axis {
  double low = 0;
  double high = 1;
  std::vector<double> ticks;
  double At(double value) const { return (value - low) / (high - low); }
};

// About `ticks` ticks. Where there is nothing to span (or not finite numbers) it spans 1.
Axis MakeAxis(double low, double high, int ticks);

// A rectangle with a title; `start` and `length` are parts of the width.
std::string Rect(double start, double length, double top, double height, const std::string& fill,
                 const std::string& title, const std::string& attributes = "");

// One row of a bar chart: name, drawing and value side by side, or the drawing beneath them on
// narrow pages. All three are HTML.
std::string BarRow(const std::string& name, const std::string& drawing, const std::string& value);
// The rows, and beneath them the axis with its unit. `lines` draws a grid through all rows.
std::string BarChart(const Axis& axis, const std::string& unit, const std::string& rows);

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_REPORT_HTML_HTML_AXIS_H_
