#include "net/roster.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "net/address.h"
#include "net/identity.h"
#include "net/unix_socket.h"

namespace crossover::net {
namespace {

template <typename Members>
absl::Status ReadMembers(const Members& members, proto::Role proto_role, Role role,
                         std::vector<RosterMember>& out) {
  for (const proto::Member& member : members) {
    const int rank = static_cast<int>(out.size());
    const std::string expected = ProcessName(role, rank);
    if (member.role() != proto_role || member.rank() != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("the roster has another member in the place of ", expected));
    }
    if (!member.data_address().empty()) {
      RETURN_IF_ERROR(Annotate(ParseHostPort(member.data_address()).status(),
                               absl::StrCat("the roster's ", expected, ": ")));
    }
    RETURN_IF_ERROR(Annotate(CheckUnixSocketName(member.unix_socket()),
                             absl::StrCat("the roster's ", expected, ": ")));
    out.push_back({rank, member.data_address(), member.unix_socket()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Roster> ReadRoster(const proto::Roster& message) {
  Roster roster;
  RETURN_IF_ERROR(ReadMembers(message.workers(), proto::WORKER, Role::kWorker, roster.workers));
  RETURN_IF_ERROR(ReadMembers(message.servers(), proto::SERVER, Role::kServer, roster.servers));
  roster.hosted_by_worker_0 = message.hosted_by_worker_0();
  return roster;
}

}  // namespace crossover::net
