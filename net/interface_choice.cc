#include "net/interface_choice.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/status.h"

namespace crossover::net {
namespace {

constexpr size_t kMaxNameBytes = 15;  // IFNAMSIZ without its end
constexpr size_t kMaxListedInterfaces = 16;
constexpr char kSyntax[] =
    "a name (eth0), an address (10.0.0.1), a CIDR (10.0.0.0/8), a list of these, or all but these "
    "(^docker0,lo)";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// One entry of a selection: a name, or a prefix (of full length for an address).
struct Item {
  std::string text;
  std::optional<IpPrefix> prefix;
  bool is_address = false;

  bool NamesLoopback() const {
    if (!prefix) return true;  // whoever names an interface wants what it has
    return prefix->address.IsLoopback() && prefix->bits >= (prefix->address.ipv6 ? 128 : 8);
  }
};

struct Selection {
  std::string text;
  bool all_but = false;
  std::vector<Item> items;
};

// An address of the host and its place in the kernel's lists.
struct Candidate {
  const HostInterface* interface;
  IpAddress address;
  int interface_index;
  int address_index;

  std::string Text() const {
    return absl::StrCat(FormatIpAddress(address), " (", interface->name, ")");
  }
};

absl::Status BadSyntax(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, "; allowed: ", kSyntax));
}

absl::StatusOr<Item> ParseItem(std::string_view text) {
  Item item;
  item.text = std::string(text);
  const std::string quoted = absl::StrCat("'", item.text, "'");
  const size_t slash = text.find('/');
  const std::optional<IpAddress> address = ParseIpAddress(text.substr(0, slash));
  if (slash != std::string_view::npos) {
    const std::string_view bits_text = text.substr(slash + 1);
    int bits = -1;
    const bool digits = bits_text.find_first_not_of("0123456789") == std::string_view::npos;
    if (!address) return BadSyntax(absl::StrCat(quoted, " has no address before its /"));
    if (!digits || !absl::SimpleAtoi(View(bits_text), &bits) || bits > address->bits()) {
      return BadSyntax(
          absl::StrCat(quoted, " has no prefix length of 0 to ", address->bits(), " after its /"));
    }
    item.prefix = MakePrefix(*address, bits);
    item.text = FormatPrefix(*item.prefix);
    return item;
  }
  if (address) {
    item.prefix = MakePrefix(*address, address->bits());
    item.is_address = true;
    return item;
  }
  if (text.find('%') != std::string_view::npos) {
    return BadSyntax(absl::StrCat(quoted, " has a scope, which means nothing to other hosts"));
  }
  if (text.find_first_not_of("0123456789.") == std::string_view::npos && !text.empty()) {
    return BadSyntax(absl::StrCat(quoted, " is no IPv4 address"));
  }
  if (std::count(text.begin(), text.end(), ':') > 1) {
    return BadSyntax(absl::StrCat(quoted, " is no IPv6 address"));
  }
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~' && c != '^'; });
  if (text.empty() || text.size() > kMaxNameBytes || !printable) {
    return BadSyntax(absl::StrCat(quoted, " is no interface's name: 1 to ", kMaxNameBytes,
                                  " printable characters, with ^ only before the whole list"));
  }
  return item;
}

absl::StatusOr<Selection> ParseSelection(std::string_view text) {
  Selection selection;
  selection.text = std::string(text);
  selection.all_but = text.starts_with('^');
  if (selection.all_but) text.remove_prefix(1);
  for (const absl::string_view part : absl::StrSplit(View(text), ',')) {
    ASSIGN_OR_RETURN(Item item, ParseItem(std::string_view(part.data(), part.size())));
    selection.items.push_back(std::move(item));
  }
  return selection;
}

bool PeersCanUse(const HostInterface& interface, const IpAddress& address) {
  return interface.up && !address.IsLinkLocal() && !address.IsUnroutable();
}

bool Matches(const Item& item, const HostInterface& interface, const IpAddress& address) {
  return item.prefix ? item.prefix->Contains(address) : item.text == interface.name;
}

// The rule among several, the better one lower; what it says of the better one.
constexpr int kRules = 6;
std::array<int, kRules> Rank(const Candidate& candidate) {
  const HostInterface& interface = *candidate.interface;
  return {candidate.address.IsLoopback(), !interface.running,       candidate.address.ipv6,
          !interface.default_route,       interface.point_to_point, interface.loopback};
}

std::string WhyBefore(const Candidate& better, const Candidate& worse) {
  const std::string& name = better.interface->name;
  const std::array<std::string, kRules> reasons = {
      "it is not loopback",
      absl::StrCat(name, " has a carrier"),
      "it is IPv4",
      absl::StrCat("the default route leaves by ", name),
      absl::StrCat(name, " is no tunnel"),
      absl::StrCat(name, " is not the loopback interface")};
  const auto a = Rank(better);
  const auto b = Rank(worse);
  for (int rule = 0; rule < kRules; ++rule) {
    if (a[rule] != b[rule]) return reasons[rule];
  }
  return "it comes first in the kernel's list";
}

// Those that fit and that peers can use, the one to take first.
template <typename Fits>
std::vector<Candidate> Candidates(std::span<const HostInterface> interfaces, const Fits& fits) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < interfaces.size(); ++i) {
    for (size_t k = 0; k < interfaces[i].addresses.size(); ++k) {
      const IpAddress& address = interfaces[i].addresses[k].address;
      if (!PeersCanUse(interfaces[i], address) || !fits(interfaces[i], address)) continue;
      candidates.push_back({&interfaces[i], address, static_cast<int>(i), static_cast<int>(k)});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return Rank(a) < Rank(b); });
  return candidates;
}

// "lo 127.0.0.1/8, eth0 10.0.0.2/24 fd00::2/64, eth1 (down)"
std::string ListInterfaces(std::span<const HostInterface> interfaces) {
  if (interfaces.empty()) return "no interface";
  std::vector<std::string> texts;
  for (const HostInterface& interface : interfaces) {
    if (texts.size() == kMaxListedInterfaces) {
      texts.push_back(absl::StrCat(interfaces.size() - texts.size(), " more"));
      break;
    }
    std::string text = interface.name;
    for (const InterfaceAddress& address : interface.addresses) {
      absl::StrAppend(&text, " ", FormatIpAddress(address.address), "/", address.prefix_bits);
    }
    if (!interface.up) absl::StrAppend(&text, " (down)");
    texts.push_back(std::move(text));
  }
  return absl::StrJoin(texts, ", ");
}

// "found: ...; fix: [what can be done or ]--interface=eth0"
std::string FoundAndFix(std::span<const HostInterface> interfaces, const std::string& first = "") {
  const std::vector<Candidate> usable = Candidates(
      interfaces,
      [](const HostInterface&, const IpAddress& address) { return !address.IsLoopback(); });
  std::vector<std::string> fixes;
  if (!first.empty()) fixes.push_back(first);
  if (!usable.empty()) {
    fixes.push_back(absl::StrCat("--interface=", usable[0].interface->name));
  } else {
    if (first.empty()) {
      fixes.push_back("give an interface a routable address (ip addr add ADDRESS/BITS dev NAME)");
    }
    fixes.push_back("for a job of this host alone leave --interface out (loopback)");
  }
  return absl::StrCat("; found: ", ListInterfaces(interfaces),
                      "; fix: ", absl::StrJoin(fixes, ", or "));
}

AddressChoice ToChoice(const Candidate& candidate, std::string reason) {
  return {FormatIpAddress(candidate.address), candidate.interface->name, std::move(reason)};
}

// `which`: "in 10.0.0.0/8".
std::string ReasonFor(const std::vector<Candidate>& candidates, const std::string& which) {
  if (candidates.size() == 1) return absl::StrCat("the only address ", which);
  return absl::StrCat("the first of ", candidates.size(), " addresses ", which, ", before ",
                      candidates[1].Text(), " since ", WhyBefore(candidates[0], candidates[1]));
}

std::string WhichOf(const Item& item) {
  return item.prefix ? absl::StrCat("in ", item.text)
                     : absl::StrCat("of ", item.text, " that peers can use");
}

// Why an item gives no address, and what would mend it ("" if nothing here does).
struct Lack {
  std::string why;
  std::string fix;
};
Lack WhyNone(const Item& item, std::span<const HostInterface> interfaces) {
  bool known = false;
  const HostInterface* down = nullptr;
  const HostInterface* link_local = nullptr;
  bool loopback = false;
  for (const HostInterface& interface : interfaces) {
    if (!item.prefix && interface.name != item.text) continue;
    known = known || !item.prefix;
    if (!item.prefix && !interface.up) down = &interface;
    for (const InterfaceAddress& address : interface.addresses) {
      if (!Matches(item, interface, address.address)) continue;
      if (!interface.up) down = &interface;
      if (address.address.IsLinkLocal()) link_local = &interface;
      loopback = loopback || address.address.IsLoopback();
    }
  }
  if (down != nullptr) {
    return {item.prefix
                ? absl::StrCat(item.text, " is an address of ", down->name, ", which is down")
                : absl::StrCat(item.text, " is down"),
            absl::StrCat("ip link set ", down->name, " up")};
  }
  const auto add_address = [](const std::string& name) {
    return absl::StrCat("ip addr add ADDRESS/BITS dev ", name);
  };
  if (link_local != nullptr) {
    return {absl::StrCat(item.text, " has only link-local addresses, which peers cannot use"),
            add_address(link_local->name)};
  }
  if (known) return {absl::StrCat(item.text, " has no address"), add_address(item.text)};
  if (loopback) return {absl::StrCat("of this host only loopback lies in ", item.text), ""};
  if (item.is_address) return {absl::StrCat(item.text, " is no address of this host"), ""};
  if (item.prefix) return {absl::StrCat("no address of this host lies in ", item.text), ""};
  return {absl::StrCat(item.text, " is no interface of this host"), ""};
}

// An address that is wrong on every host.
absl::Status CheckAddress(const Item& item, std::span<const HostInterface> interfaces) {
  if (!item.is_address) return absl::OkStatus();
  const IpAddress& address = item.prefix->address;
  const char* kind = address.IsWildcard()     ? "the wildcard"
                     : address.IsMulticast()  ? "a multicast address"
                     : address.IsUnroutable() ? "a reserved address"
                     : address.IsLinkLocal()  ? "a link-local address"
                                              : nullptr;
  if (kind == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      item.text, " is ", kind, ", which peers cannot connect to", FoundAndFix(interfaces)));
}

absl::StatusOr<AddressChoice> ChooseFirst(const Selection& selection,
                                          std::span<const HostInterface> interfaces) {
  for (const Item& item : selection.items) RETURN_IF_ERROR(CheckAddress(item, interfaces));
  std::vector<std::string> passed_over;
  Lack lack;
  for (const Item& item : selection.items) {
    const std::vector<Candidate> candidates =
        Candidates(interfaces, [&](const HostInterface& interface, const IpAddress& address) {
          return Matches(item, interface, address) &&
                 (!address.IsLoopback() || item.NamesLoopback());
        });
    if (candidates.empty()) {
      lack = WhyNone(item, interfaces);
      passed_over.push_back(lack.why);
      continue;
    }
    std::string reason =
        item.is_address ? "the address asked for" : ReasonFor(candidates, WhichOf(item));
    if (!passed_over.empty()) {
      absl::StrAppend(&reason, " (", absl::StrJoin(passed_over, ", "), ")");
    }
    return ToChoice(candidates[0], std::move(reason));
  }
  return absl::NotFoundError(
      absl::StrCat(absl::StrJoin(passed_over, ", "), FoundAndFix(interfaces, lack.fix)));
}

absl::StatusOr<AddressChoice> ChooseAmongOthers(const Selection& selection,
                                                std::span<const HostInterface> interfaces) {
  const std::vector<Candidate> candidates =
      Candidates(interfaces, [&](const HostInterface& interface, const IpAddress& address) {
        return !address.IsLoopback() &&
               std::none_of(selection.items.begin(), selection.items.end(),
                            [&](const Item& item) { return Matches(item, interface, address); });
      });
  if (candidates.empty()) {
    return absl::NotFoundError(absl::StrCat(selection.text, " leaves no address that peers can use",
                                            FoundAndFix(interfaces)));
  }
  std::string reason = ReasonFor(candidates, absl::StrCat("left by ", selection.text));
  std::vector<std::string> absent;
  for (const Item& item : selection.items) {
    const bool here = item.prefix.has_value() ||
                      std::any_of(interfaces.begin(), interfaces.end(),
                                  [&](const HostInterface& i) { return i.name == item.text; });
    if (!here) absent.push_back(item.text);
  }
  if (!absent.empty()) {
    absl::StrAppend(&reason, " (not on this host: ", absl::StrJoin(absent, ", "), ")");
  }
  return ToChoice(candidates[0], std::move(reason));
}

}  // namespace

std::string DescribeChoice(const AddressChoice& choice) {
  return absl::StrCat(choice.address, " (", choice.interface, "): ", choice.reason);
}

absl::StatusOr<AddressChoice> ChooseAddress(std::string_view selection,
                                            std::span<const HostInterface> interfaces) {
  if (selection.empty()) return AddressChoice{"127.0.0.1", "loopback", "no --interface was given"};
  ASSIGN_OR_RETURN(const Selection parsed, ParseSelection(selection));
  return parsed.all_but ? ChooseAmongOthers(parsed, interfaces) : ChooseFirst(parsed, interfaces);
}

}  // namespace crossover::net
