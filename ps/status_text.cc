#include "ps/status_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace crossover::ps {
namespace {

using proto::ServerReport;
using proto::ServerStatus;
using proto::WorkerStatus;

// Single values of staleness that a screen has room for.
constexpr int kStalenessShown = 6;

std::string Count(int64_t value) {
  const std::string digits = absl::StrCat(value);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

// Three significant digits, and never fewer than those before the point.
std::string ThreeDigits(double value) {
  return absl::StrFormat("%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

std::string Rate(double a_second) {
  return a_second < 999.5 ? ThreeDigits(a_second) : Count(std::llround(a_second));
}

std::string Bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  if (bytes < 1000) return absl::StrFormat("%.0f B", bytes);
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return absl::StrCat(ThreeDigits(bytes), " ", kUnits[unit]);
}

std::string Seconds(double seconds) {
  if (seconds < 0.9995e-3) return absl::StrFormat("%.0f us", seconds * 1e6);
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1e3);
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return absl::StrFormat("%d min %d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %d min", whole / 3600, whole / 60 % 60);
}

std::string StepText(int64_t step) { return step < 0 ? "none yet" : Count(step); }

// What was counted since an earlier status, a second.
class Rates {
 public:
  Rates(const ServerStatus& now, const ServerStatus* before)
      : now_(now.totals()), before_(before == nullptr ? ServerReport() : before->totals()) {
    // Of another process where the time runs backwards.
    if (before != nullptr) seconds_ = now.uptime_s() - before->uptime_s();
  }
  // "  (1.2 MB/s)", or nothing.
  template <typename Format>
  std::string Of(int64_t (ServerReport::*count)() const, const Format& format) const {
    if (seconds_ <= 0) return "";
    const auto since = static_cast<double>((now_.*count)() - (before_.*count)());
    return absl::StrCat("  (", format(since / seconds_), "/s)");
  }

 private:
  const ServerReport& now_;
  const ServerReport before_;
  double seconds_ = 0;
};

using Row = std::vector<std::string>;

// Columns as wide as their widest cell and two apart; numbers (`right`) end under each other.
std::string Table(const std::vector<Row>& rows, const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ", right[i] ? fill : "", row[i],
                      right[i] ? "" : fill);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

std::string Head(const ServerStatus& now) {
  std::string text =
      absl::StrFormat("server %d of %d at %s   %s, %s (job %016x)\n", now.rank(), now.servers(),
                      now.address(), now.job(), now.strategy(), now.job_fingerprint());
  absl::StrAppend(&text, "up ", Seconds(now.uptime_s()));
  if (now.pid() != 0) {
    absl::StrAppend(&text, "   pid ", now.pid(), " on ", now.host(), "   processor time ",
                    Seconds(now.cpu_s()));
  }
  return absl::StrCat(text, "\n");
}

// "0: 97.1%  1: 2.2%  2 and more: 0.7%; at most 3"
std::string Staleness(const ServerReport& totals) {
  int64_t all = 0;
  for (const int64_t count : totals.staleness_histogram()) all += count;
  if (all == 0) return "no pushes yet";
  std::string text;
  const auto add = [&](const std::string& which, int64_t count) {
    absl::StrAppendFormat(&text, "%s: %.1f%%  ", which,
                          100 * static_cast<double>(count) / static_cast<double>(all));
  };
  int64_t rest = all;
  for (int i = 0; i < std::min(kStalenessShown, totals.staleness_histogram_size()); ++i) {
    add(absl::StrCat(i), totals.staleness_histogram(i));
    rest -= totals.staleness_histogram(i);
  }
  if (rest > 0) add(absl::StrCat(kStalenessShown, " and more"), rest);
  return absl::StrCat(text, "at most ", Count(totals.staleness_max()));
}

std::string Memory(const ServerStatus& now) {
  const ServerReport& totals = now.totals();
  std::string text =
      absl::StrCat("parameters ", Bytes(static_cast<double>(totals.parameter_bytes())), ", state ",
                   Bytes(static_cast<double>(totals.state_bytes())));
  if (totals.transient_bytes_max() > 0) {
    absl::StrAppend(&text, ", transient at most ",
                    Bytes(static_cast<double>(totals.transient_bytes_max())));
  }
  return text;
}

std::string Resident(const ServerStatus& now) {
  return absl::StrCat("resident ", Bytes(static_cast<double>(now.rss_bytes())), " (at most ",
                      Bytes(static_cast<double>(now.peak_rss_bytes())), ")");
}

std::string Figures(const ServerStatus& now, const Rates& rates) {
  const ServerReport& totals = now.totals();
  const auto rate_of_bytes = [](double value) { return Bytes(value); };
  const std::string step =
      now.total_steps() == 0 ? "no worker's plan yet"
                             : absl::StrCat(StepText(now.step()), " of ", Count(now.total_steps()));
  std::string versions = Count(now.version_lowest());
  if (now.version_highest() != now.version_lowest()) {
    absl::StrAppend(&versions, " to ", Count(now.version_highest()));
  }
  const double apply_s = static_cast<double>(totals.apply_ns()) * 1e-9;
  int64_t messages = 0, queued_bytes = 0;
  for (const WorkerStatus& worker : now.workers()) {
    messages += worker.queued_messages();
    queued_bytes += worker.queued_bytes();
  }
  std::vector<Row> rows = {
      {"step", step},
      {"parts", absl::StrCat(Count(now.parts()), " of version ", versions)},
      {"pushes", absl::StrCat(Count(totals.pushes()), rates.Of(&ServerReport::pushes, Rate))},
      {"applying",
       totals.pushes() == 0
           ? Seconds(apply_s)
           : absl::StrCat(Seconds(apply_s), ", ",
                          Seconds(apply_s / static_cast<double>(totals.pushes())), " a push")},
      {"received", absl::StrCat(Bytes(static_cast<double>(totals.payload_received_bytes())),
                                rates.Of(&ServerReport::payload_received_bytes, rate_of_bytes))},
      {"sent", absl::StrCat(Bytes(static_cast<double>(totals.payload_sent_bytes())),
                            rates.Of(&ServerReport::payload_sent_bytes, rate_of_bytes))},
      {"queued", absl::StrCat(Count(messages), messages == 1 ? " message, " : " messages, ",
                              Bytes(static_cast<double>(queued_bytes)))},
      {"memory", Memory(now)},
  };
  if (now.rss_bytes() > 0) rows.push_back({"", Resident(now)});
  rows.push_back({"staleness", Staleness(totals)});
  return Table(rows, {false, false});
}

const char* StateName(WorkerStatus::State state) {
  switch (state) {
    case WorkerStatus::CONNECTED:
      return "connected";
    case WorkerStatus::LEFT:
      return "left";
    case WorkerStatus::LOST:
      return "LOST";
    default:
      return "awaited";
  }
}

// One column of the workers' table; left out where no worker has a figure.
struct Column {
  std::string title;
  bool right = true;
  std::string (*cell)(const ServerStatus& now, int rank);
  bool always = true;
};

const WorkerStatus& WorkerOf(const ServerStatus& now, int rank) { return now.workers(rank); }
int64_t EntryOf(const google::protobuf::RepeatedField<int64_t>& values, int rank) {
  return rank < values.size() ? values.Get(rank) : 0;
}

std::vector<Column> Columns() {
  return {
      {"worker", true, [](const ServerStatus&, int rank) { return absl::StrCat(rank); }},
      {"state", false,
       [](const ServerStatus& now, int rank) {
         return std::string(StateName(WorkerOf(now, rank).state()));
       }},
      {"address", false,
       [](const ServerStatus& now, int rank) { return WorkerOf(now, rank).address(); }},
      {"step", true,
       [](const ServerStatus& now, int rank) {
         const int64_t step = WorkerOf(now, rank).step();
         return step < 0 ? std::string("-") : Count(step);
       }},
      {"silent for", true,
       [](const ServerStatus& now, int rank) {
         const double silent_s = WorkerOf(now, rank).silent_s();
         return silent_s < 0 ? std::string("-") : Seconds(silent_s);
       }},
      {"heartbeat", true,
       [](const ServerStatus& now, int rank) {
         const WorkerStatus& worker = WorkerOf(now, rank);
         return worker.has_heartbeat_s() ? Seconds(worker.heartbeat_s()) : std::string();
       },
       false},
      {"phase", false,
       [](const ServerStatus& now, int rank) { return WorkerOf(now, rank).phase(); }, false},
      {"unanswered", true,
       [](const ServerStatus& now, int rank) {
         return absl::StrCat(WorkerOf(now, rank).unanswered_parts(), " of ", now.credits());
       }},
      {"queued", true,
       [](const ServerStatus& now, int rank) {
         return Count(WorkerOf(now, rank).queued_messages());
       }},
      {"held", true,
       [](const ServerStatus& now, int rank) {
         const int64_t held_ns = EntryOf(now.totals().held_ns(), rank);
         return held_ns == 0 ? std::string() : Seconds(static_cast<double>(held_ns) * 1e-9);
       },
       false},
      {"late", true,
       [](const ServerStatus& now, int rank) {
         const int64_t late = EntryOf(now.totals().late_pushes(), rank);
         return late == 0 ? std::string() : Count(late);
       },
       false},
  };
}

std::string Workers(const ServerStatus& now) {
  std::vector<Row> rows(static_cast<size_t>(now.workers_size()) + 1);
  std::vector<bool> right;
  for (const Column& column : Columns()) {
    Row cells = {column.title};
    bool any = column.always;
    for (int rank = 0; rank < now.workers_size(); ++rank) {
      cells.push_back(column.cell(now, rank));
      any = any || !cells.back().empty();
    }
    if (!any) continue;
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(cells[i]);
    right.push_back(column.right);
  }
  return Table(rows, right);
}

}  // namespace

std::string StatusText(const ServerStatus& now, const ServerStatus* before) {
  return absl::StrCat(Head(now), "\n", Figures(now, Rates(now, before)), "\n", Workers(now));
}

}  // namespace crossover::ps
