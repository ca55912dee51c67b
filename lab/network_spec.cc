#include "lab/network_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/check.h"
#include "core/status.h"

namespace crossover::lab {
namespace {

constexpr std::array<const char*, 2> kRoles = {"worker", "server"};
constexpr double kRateMin = 1e3, kRateMax = 400e9;  // bits/s
constexpr double kDelayUsMax = 5e6;
constexpr int64_t kQueueBytesMax = 1'000'000'000;

struct Unit {
  const char* name;
  double factor;
};
// The largest first, as they are printed.
constexpr std::array<Unit, 4> kRateUnits = {
    {{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}};
constexpr std::array<Unit, 3> kDelayUnits = {{{"s", 1e6}, {"ms", 1e3}, {"us", 1}}};
constexpr std::array<Unit, 3> kSizeUnits = {{{"mb", 1e6}, {"kb", 1e3}, {"b", 1}}};

struct Preset {
  const char* name;
  const char* text;
};
constexpr std::array<Preset, 2> kPresets = {{{"1gbe", "1gbit,50us"}, {"wan", "100mbit,10ms"}}};

absl::Status Refuse(absl::string_view found, absl::string_view allowed, absl::string_view fix) {
  return absl::InvalidArgumentError(
      absl::StrCat("network: found ", found, "; allowed: ", allowed, "; fix: ", fix));
}

constexpr absl::string_view kItems =
    "RATE (1gbit), ROLE=RATE, DELAY (0.5ms), loss=P%, queue=SIZE (2mb), or a preset first: "
    "100mbit, "
    "1gbe, wan, loopback";

constexpr absl::string_view kDecimalCharacters = "0123456789.";

// Digits with a point or none among them; nothing for other forms, such as 1e1 and +1.
std::optional<double> Decimal(absl::string_view text) {
  double number = 0;
  if (text.find_first_not_of(kDecimalCharacters) != absl::string_view::npos ||
      !absl::SimpleAtod(text, &number)) {
    return std::nullopt;
  }
  return number;
}

// "0.5ms" in the base unit; nothing if it is not a number and one of the units.
template <size_t kUnits>
std::optional<double> Quantity(absl::string_view text, const std::array<Unit, kUnits>& units) {
  const size_t end = std::min(text.find_first_not_of(kDecimalCharacters), text.size());
  const std::optional<double> number = Decimal(text.substr(0, end));
  if (!number.has_value()) return std::nullopt;
  for (const Unit& unit : units) {
    if (text.substr(end) == unit.name) return *number * unit.factor;
  }
  return std::nullopt;
}

// Six digits, as Decimal reads them: 0.00001, not 1e-05. Below a million, as all figures here are.
std::string DecimalText(double value) {
  std::string text = absl::StrFormat("%.6g", value);
  if (!absl::StrContains(text, 'e')) return text;
  text = absl::StrFormat("%.*f", 5 - static_cast<int>(std::floor(std::log10(value))), value);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

template <size_t kUnits>
std::string QuantityText(double value, const std::array<Unit, kUnits>& units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor) return absl::StrCat(DecimalText(value / unit.factor), unit.name);
  }
  return absl::StrCat(DecimalText(value), units.back().name);
}

// What the items have said so far.
struct Items {
  LinkSpec common;
  bool has_rate = false, has_delay = false, has_loss = false, has_queue = false;
  std::map<std::string, double> role_rates;
};

absl::Status Once(bool& seen, absl::string_view what, absl::string_view item) {
  if (seen) {
    return Refuse(absl::StrCat("a second ", what, ", '", item, "'"), absl::StrCat("one ", what),
                  absl::StrCat("leave out '", item, "'"));
  }
  seen = true;
  return absl::OkStatus();
}

absl::StatusOr<double> Rate(absl::string_view text) {
  const std::optional<double> rate = Quantity(text, kRateUnits);
  if (!rate.has_value() || *rate < kRateMin || *rate > kRateMax) {
    return Refuse(absl::StrCat("the rate '", text, "'"), "1kbit to 400gbit",
                  "write a number and its unit, such as 1gbit");
  }
  return *rate;
}

absl::Status TakeLoss(absl::string_view value, Items& items) {
  const bool has_sign = absl::ConsumeSuffix(&value, "%");
  const std::optional<double> percent = Decimal(value);
  if (!has_sign || !percent.has_value() || *percent >= 100) {
    return Refuse(absl::StrCat("loss=", value, has_sign ? "%" : ""), "0% to below 100%",
                  "write loss=1%");
  }
  items.common.loss_fraction = *percent / 100;
  return absl::OkStatus();
}

absl::Status TakeQueue(absl::string_view value, Items& items) {
  const std::optional<double> bytes = Quantity(value, kSizeUnits);
  if (!bytes.has_value() || *bytes < kQueueBytesMin || *bytes > kQueueBytesMax) {
    return Refuse(absl::StrCat("queue=", value), "32kb to 1000mb", "write queue=2mb");
  }
  items.common.queue_bytes = std::llround(*bytes);
  return absl::OkStatus();
}

absl::Status TakeNamed(absl::string_view name, absl::string_view value, absl::string_view item,
                       Items& items) {
  if (name == "loss") {
    RETURN_IF_ERROR(Once(items.has_loss, "loss", item));
    return TakeLoss(value, items);
  }
  if (name == "queue") {
    RETURN_IF_ERROR(Once(items.has_queue, "queue", item));
    return TakeQueue(value, items);
  }
  if (std::find(kRoles.begin(), kRoles.end(), name) == kRoles.end()) {
    return Refuse(absl::StrCat("'", item, "'"), "worker=RATE, server=RATE, loss=P%, queue=SIZE",
                  "name one of these");
  }
  bool seen = items.role_rates.count(std::string(name)) > 0;
  RETURN_IF_ERROR(Once(seen, absl::StrCat("rate of the role ", name), item));
  ASSIGN_OR_RETURN(items.role_rates[std::string(name)], Rate(value));
  return absl::OkStatus();
}

absl::Status Take(absl::string_view item, Items& items) {
  if (const size_t equals = item.find('='); equals != absl::string_view::npos) {
    return TakeNamed(item.substr(0, equals), item.substr(equals + 1), item, items);
  }
  if (absl::EndsWith(item, "bit")) {
    RETURN_IF_ERROR(Once(items.has_rate, "rate", item));
    ASSIGN_OR_RETURN(items.common.rate_bits_per_s, Rate(item));
    return absl::OkStatus();
  }
  if (const std::optional<double> delay = Quantity(item, kDelayUnits)) {
    RETURN_IF_ERROR(Once(items.has_delay, "delay", item));
    if (*delay > kDelayUsMax) {
      return Refuse(absl::StrCat("the delay '", item, "'"), "0us to 5s", "write a shorter one");
    }
    items.common.delay_us = *delay;
    return absl::OkStatus();
  }
  return Refuse(absl::StrCat("'", item, "'"), kItems, "write, for example, 1gbit,0.5ms");
}

absl::StatusOr<Items> TakeAll(absl::string_view text) {
  Items items;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  size_t next = 0;
  for (const Preset& preset : kPresets) {
    if (parts[0] != preset.name) continue;
    ASSIGN_OR_RETURN(items, TakeAll(preset.text));
    items.has_rate = items.has_delay = false;  // may be changed by what follows
    next = 1;
  }
  for (; next < parts.size(); ++next) RETURN_IF_ERROR(Take(parts[next], items));
  return items;
}

}  // namespace

LinkSpec NetworkSpec::LinkOf(const std::string& role) const {
  const auto found = links.find(role);
  return found == links.end() ? LinkSpec() : found->second;
}

double NetworkSpec::delay_us() const {
  double longest = 0;
  for (const auto& [role, link] : links) longest = std::max(longest, link.delay_us);
  return longest;
}

double NetworkSpec::loss_fraction() const {
  double largest = 0;
  for (const auto& [role, link] : links) largest = std::max(largest, link.loss_fraction);
  return largest;
}

NetworkSpec NetworkSpec::Scaled(double time_scale, double bytes_scale) const {
  CROSSOVER_CHECK(time_scale > 0 && bytes_scale > 0, "a validated job has positive scales");
  NetworkSpec scaled = *this;
  for (auto& [role, link] : scaled.links) {
    link.rate_bits_per_s /= time_scale * bytes_scale;
    link.delay_us *= time_scale;
    link.queue_bytes = std::max(
        kQueueBytesMin,
        std::min<int64_t>(kQueueBytesMax,
                          std::llround(static_cast<double>(link.queue_bytes) / bytes_scale)));
  }
  return scaled;
}

absl::StatusOr<NetworkSpec> ParseNetworkSpec(std::string_view given) {
  std::string text(given);
  absl::StripAsciiWhitespace(&text);
  absl::AsciiStrToLower(&text);
  if (text == "loopback") return NetworkSpec();
  ASSIGN_OR_RETURN(const Items items, TakeAll(text));
  NetworkSpec spec;
  for (const char* role : kRoles) {
    LinkSpec link = items.common;
    const auto rate = items.role_rates.find(role);
    if (rate != items.role_rates.end()) link.rate_bits_per_s = rate->second;
    if (link.rate_bits_per_s == 0) {
      return Refuse(absl::StrCat("'", text, "', which gives the role ", role, " no rate"),
                    "a rate for all links or one for each role",
                    absl::StrCat("add 1gbit, or ", role, "=1gbit"));
    }
    if (!items.has_queue) link.queue_bytes = DefaultQueueBytes(link.rate_bits_per_s);
    spec.links[role] = link;
  }
  return spec;
}

std::string NetworkSpecText(const NetworkSpec& spec) {
  if (!spec.shaped()) return "loopback";
  const LinkSpec& first = spec.links.begin()->second;
  bool one_rate = true, one_queue = true, default_queues = true;
  for (const auto& [role, link] : spec.links) {
    one_rate = one_rate && link.rate_bits_per_s == first.rate_bits_per_s;
    one_queue = one_queue && link.queue_bytes == first.queue_bytes;
    default_queues = default_queues && link.queue_bytes == DefaultQueueBytes(link.rate_bits_per_s);
  }
  std::string text;
  if (one_rate) {
    text = RateText(first.rate_bits_per_s);
  } else {
    for (const char* role : kRoles) {
      absl::StrAppend(&text, text.empty() ? "" : ",", role, "=",
                      RateText(spec.LinkOf(role).rate_bits_per_s));
    }
  }
  if (spec.delay_us() > 0) absl::StrAppend(&text, ",", DelayText(spec.delay_us()));
  if (spec.loss_fraction() > 0) {
    absl::StrAppend(&text, ",loss=", DecimalText(100 * spec.loss_fraction()), "%");
  }
  if (one_queue && !default_queues) {
    absl::StrAppend(&text,
                    ",queue=", QuantityText(static_cast<double>(first.queue_bytes), kSizeUnits));
  }
  return text;
}

int64_t DefaultQueueBytes(double rate_bits_per_s) {
  constexpr double kDrainS = 16e-3;
  if (rate_bits_per_s <= 0) return LinkSpec().queue_bytes;
  return std::clamp<int64_t>(std::llround(rate_bits_per_s / 8 * kDrainS), 256'000, 4'000'000);
}

std::string RateText(double bits_per_s) { return QuantityText(bits_per_s, kRateUnits); }

std::string DelayText(double us) { return QuantityText(us, kDelayUnits); }

double TcpPayloadBytesPerS(double rate_bits_per_s) { return rate_bits_per_s / 8 * 1448 / 1538; }

}  // namespace crossover::lab
