// How long to look for what is awaited before blocking. Looking again at once answers soonest
// where the peer runs on another core. Where it waits for ours, or where a foreign program takes
// the core, it is the slowest: a spin keeps the peer from running, and a yield can give away a
// whole time slice, milliseconds each time, where a sleeper is woken within microseconds. So a
// spin that did not pay is followed by waits that block at once: 1, 3, 7, ... up to 1023 of them,
// until spins pay again. Belongs to one thread; never blocks, but may yield.
#ifndef CROSSOVER_ALLREDUCE_PATIENCE_H_
#define CROSSOVER_ALLREDUCE_PATIENCE_H_

#include "core/clock.h"

namespace crossover::allreduce {

class Patience {
 public:
  // At most so many looks at a time; between them a hint to the processor or, where ranks of a
  // host outnumber its cores, the core for whoever waits for it. `clock` is borrowed and outlives
  // this.
  Patience(int looks_max, bool yield, const Clock& clock)
      : looks_max_(looks_max), yield_(yield), clock_(clock) {}

  // After a look that found nothing: whether to look again, after a pause taken here, or to block
  // until there is something.
  bool LookAgain();
  // After a look that found something: the next wait begins.
  void Found();

 private:
  void GiveUp();

  const int looks_max_;
  const bool yield_;
  const Clock& clock_;
  int looks_ = 0;         // of the present wait
  bool blocks_ = false;   // the present wait's remaining looks are not worth it
  int paid_ = 0;          // spins in a row that found something
  int penalty_ = 0;       // waits to block at once after the last spin that did not pay
  int penalty_left_ = 0;  // of them, those to come
};

}  // namespace crossover::allreduce

#endif  // CROSSOVER_ALLREDUCE_PATIENCE_H_
