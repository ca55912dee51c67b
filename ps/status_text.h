// A server's status as a screen for people: aligned columns, at most 100 of them, figures with
// their units. Pure.
#ifndef CROSSOVER_PS_STATUS_TEXT_H_
#define CROSSOVER_PS_STATUS_TEXT_H_

#include <string>

#include "proto/status.pb.h"

namespace crossover::ps {

// Lines without trailing spaces, the last one ended too. With `before`, an earlier status of the
// same server, rates since then; null: none.
std::string StatusText(const proto::ServerStatus& now, const proto::ServerStatus* before);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STATUS_TEXT_H_
