// A text that is shown again and again in the same place of a terminal, or one after the other
// where standard output is none. For one thread.
#ifndef CROSSOVER_PS_STATUS_SCREEN_H_
#define CROSSOVER_PS_STATUS_SCREEN_H_

#include <string>

namespace crossover::ps {

class StatusScreen {
 public:
  // Looks whether standard output is a terminal.
  StatusScreen();
  // Writes all of it, or on a terminal as many lines as it has; the cursor stays below.
  void Show(const std::string& text);

 private:
  const bool terminal_;
  bool shown_ = false;
};

// The text's first lines and, where there are more, how many; `rows` in all, the cursor's among
// them. 0: no bound. Pure.
std::string FitRows(const std::string& text, int rows);
// Escape sequences that put it in the place of what stands there. Pure.
std::string InPlace(const std::string& text);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STATUS_SCREEN_H_
