#include "core/transport_costs.h"

#include <functional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/job_internal.h"
#include "core/status.h"
#include "google/protobuf/util/json_util.h"

namespace crossover {
namespace {

constexpr size_t kFitBytesMax = 1 << 20;
constexpr double kCostMax = 1e9;
constexpr char kMakeAgain[] = "write it again with comm_test --transport=tcp --fit=FILE";

struct Constant {
  const char* name;
  bool set;
  double value;
  bool above_0;  // or 0 too
};

absl::Status CheckConstants(const proto::TransportCosts& costs, absl::string_view at) {
  const Constant constants[] = {
      {"alpha_us", costs.has_alpha_us(), costs.alpha_us(), true},
      {"message_us", costs.has_message_us(), costs.message_us(), false},
      {"beta_us_per_byte", costs.has_beta_us_per_byte(), costs.beta_us_per_byte(), true},
      {"gamma_us_per_byte", costs.has_gamma_us_per_byte(), costs.gamma_us_per_byte(), false}};
  for (const Constant& constant : constants) {
    const bool fits = constant.above_0 ? constant.value > 0 : constant.value >= 0;
    if (constant.set && fits && constant.value <= kCostMax) continue;  // nor a NaN
    // Sizes that are all large, or all small, leave nothing for the other constant.
    return Refusal(at,
                   constant.set
                       ? absl::StrCat("a fit whose ", constant.name, " is ", constant.value)
                       : absl::StrCat("a fit without ", constant.name),
                   constant.above_0 ? "above 0, at most 1e9" : "0 to 1e9",
                   absl::StrCat(kMakeAgain, ", of sizes from 4K to 100M"));
  }
  if (costs.has_points() && costs.points() < 1) {
    return Refusal(at, absl::StrCat("a fit to ", costs.points(), " points"), "1 or more",
                   kMakeAgain);
  }
  return absl::OkStatus();
}

absl::Status FitLineError(absl::string_view at, absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat(at, ": ", found, "; allowed: lines of comm_test --fit, as {\"network\":\"\",",
                   "\"transport\":\"tcp\",\"alpha_us\":5,...}; fix: ", kMakeAgain));
}

// The first line of what protobuf says, which draws the place beneath it.
std::string FirstLine(absl::string_view text) { return Clipped(text.substr(0, text.find('\n'))); }

std::string NetworkText(const proto::TransportCosts& costs) {
  return costs.network().empty() ? "outside the lab" : costs.network();
}

absl::Status CheckCosts(const google::protobuf::RepeatedPtrField<proto::TransportCosts>& costs,
                        const std::function<std::string(int)>& at) {
  for (int i = 0; i < costs.size(); ++i) {
    if (costs[i].transport().empty()) {
      return Refusal(at(i), "a fit without transport", "tcp, grpc or another", kMakeAgain);
    }
    RETURN_IF_ERROR(CheckConstants(costs[i], at(i)));
    for (int before = 0; before < i; ++before) {
      if (costs[before].transport() != costs[i].transport()) continue;
      return Refusal(at(i),
                     absl::StrCat("a second fit of ", Clipped(costs[i].transport()), " (",
                                  Clipped(NetworkText(costs[i])),
                                  "; the first: ", Clipped(NetworkText(costs[before])), ")"),
                     "one a transport", "keep the one of the network that the job will run on");
    }
  }
  return absl::OkStatus();
}

const proto::TransportCosts* CostsOf(const proto::AllReduce& allreduce,
                                     std::string_view transport) {
  for (const proto::TransportCosts& costs : allreduce.costs()) {
    if (costs.transport() == transport) return &costs;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::vector<proto::TransportCosts>> ParseFit(std::string_view text,
                                                            std::string_view file) {
  if (text.size() > kFitBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(file), ": ", text.size(),
                                                   " bytes is too large for a fit; allowed: at ",
                                                   "most ", kFitBytesMax, "; fix: ", kMakeAgain));
  }
  google::protobuf::RepeatedPtrField<proto::TransportCosts> fits;
  std::vector<std::string> positions;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    positions.push_back(absl::StrCat(ToAbsl(file), ":", number));
    const auto status = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(line.data(), line.size()), fits.Add());
    if (!status.ok()) {
      return FitLineError(positions.back(),
                          FirstLine({status.message().data(), status.message().size()}));
    }
  }
  if (fits.empty()) return FitLineError(ToAbsl(file), "no lines");
  RETURN_IF_ERROR(CheckCosts(fits, [&](int i) { return positions[static_cast<size_t>(i)]; }));
  return std::vector<proto::TransportCosts>(fits.begin(), fits.end());
}

const char* ScheduleTransport(const proto::AllReduce& allreduce) {
  return allreduce.transport() == proto::Transport::grpc ? "grpc" : "tcp";
}

const proto::TransportCosts* CostsOfTransport(const proto::AllReduce& allreduce) {
  return CostsOf(allreduce, ScheduleTransport(allreduce));
}

const proto::TransportCosts* CostsOfSharedMemory(const proto::AllReduce& allreduce) {
  return CostsOf(allreduce, proto::Transport::Name_Name(proto::Transport::shared_memory));
}

absl::Status CheckFit(const proto::AllReduce& allreduce) {
  RETURN_IF_ERROR(CheckCosts(allreduce.costs(),
                             [](int i) { return absl::StrCat("allreduce.costs[", i, "]"); }));
  if (allreduce.costs().empty() || CostsOfTransport(allreduce) != nullptr) return absl::OkStatus();
  std::vector<std::string> known;
  for (const proto::TransportCosts& costs : allreduce.costs()) {
    known.push_back(Clipped(costs.transport()));
  }
  const char* transport = ScheduleTransport(allreduce);
  return Refusal("allreduce.fit",
                 absl::StrCat("\"", Clipped(allreduce.fit()), "\", whose constants are of ",
                              absl::StrJoin(known, ", ")),
                 absl::StrCat("a fit of ", transport, ", which the job's collectives travel over"),
                 absl::StrCat("comm_test --transport=", transport, " --fit=FILE"));
}

}  // namespace crossover
