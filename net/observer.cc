#include "net/observer.h"

#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "net/grpc_setup.h"

namespace crossover::net {
namespace {

// Not the members' key: an observer's call carries nothing else of theirs.
constexpr char kObserverTokenKey[] = "crossover-observer-token";

}  // namespace

void SetObserverToken(const std::string& token, grpc::ClientContext& context) {
  context.AddMetadata(kObserverTokenKey, token);
}

absl::Status CheckObserver(const Identity& ours, const grpc::ServerContextBase& context) {
  const auto [first, last] = context.client_metadata().equal_range(kObserverTokenKey);
  const bool once = first != last && std::next(first) == last;
  const std::string_view token =
      once ? std::string_view(first->second.data(), first->second.size()) : std::string_view();
  if (TokensEqual(ours.token, token)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the caller at ", PeerAddress(context), " has the wrong token: give it this run's token"));
}

}  // namespace crossover::net
