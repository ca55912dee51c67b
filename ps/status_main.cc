// The status binary: what a running parameter server does, for people or for Prometheus.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "core/flag_parser.h"
#include "core/status.h"
#include "net/address.h"
#include "net/grpc_setup.h"
#include "net/identity.h"
#include "os/environment.h"
#include "os/termination.h"
#include "ps/status_client.h"
#include "ps/status_prometheus.h"
#include "ps/status_screen.h"
#include "ps/status_text.h"

namespace crossover::ps {
namespace {

struct Arguments {
  std::string address;
  std::string token_path;
  std::string tls_path;
  double timeout_s = 5;
  double watch_s = 0;  // 0: once
  bool prometheus = false;
};

// `--watch` alone is every second.
absl::Status SetWatch(std::string_view value, double* watch_s) {
  *watch_s = 1;
  if (value == "true") return absl::OkStatus();
  return SetReal(watch_s, 0.1, 3600)(value);
}

FlagSet MakeFlags(Arguments& values) {
  FlagSet flags("status ADDRESS --token_file=FILE [flags]",
                "Shows what the parameter server at ADDRESS does: steps, versions, bytes, queues, "
                "memory, staleness, workers. ADDRESS is what its log says (\"server 0 listens on "
                "...\"); FILE is the run's token. compare keeps both in the folder of the run, "
                "runs/NAME of its results.");
  flags.BeginGroup("Flags");
  flags.Add({"token_file", "file with the run's secret token", "", SetText(&values.token_path)});
  flags.Add({"tls_file", "of a run with TLS: file with its certificate and key", "",
             SetText(&values.tls_path)});
  Flag watch{"watch",
             "show it again and again in place, until Ctrl-C; --watch=SECONDS says how often, from "
             "0.1 to 3600",
             "every second",
             [&values](std::string_view value) { return SetWatch(value, &values.watch_s); }};
  watch.is_bool = true;
  flags.Add(std::move(watch));
  Flag prometheus{"prometheus", "in Prometheus's text format, once", "false",
                  SetBool(&values.prometheus)};
  prometheus.is_bool = true;
  flags.Add(std::move(prometheus));
  flags.Add({"timeout", "seconds within which the server has to answer", "5",
             SetReal(&values.timeout_s, 0.1, 3600)});
  flags.AddExample("status 10.0.0.1:40123 --token_file=token --watch", "follows one server");
  return flags;
}

absl::Status Check(const ParsedFlags& parsed, Arguments& values) {
  if (parsed.positional.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        parsed.positional.size(),
        " addresses; give one, as the server's log says (\"server 0 listens on ...\")"));
  }
  values.address = parsed.positional.front();
  const absl::StatusOr<net::HostPort> address = net::ParseHostPort(values.address);
  RETURN_IF_ERROR(Annotate(address.status(), "ADDRESS: "));
  if (values.token_path.empty()) {
    return absl::InvalidArgumentError(
        "--token_file: missing; give the run's token file (of a comparison: token, in the folder "
        "of the run's logs while it lasts)");
  }
  if (values.prometheus && values.watch_s > 0) {
    return absl::InvalidArgumentError("--prometheus and --watch: give one of the two");
  }
  return absl::OkStatus();
}

// Until Ctrl-C ends the program, or the server is no longer there. One that is only late is
// waited for.
absl::Status Watch(StatusClient& client, const Arguments& values, Clock& clock) {
  StatusScreen screen;
  std::optional<proto::ServerStatus> before;
  while (true) {
    absl::StatusOr<proto::ServerStatus> now = client.Fetch(values.timeout_s);
    if (now.ok()) {
      screen.Show(StatusText(*now, before.has_value() ? &*before : nullptr));
      before = *std::move(now);
    } else if (absl::IsDeadlineExceeded(now.status()) && before.has_value()) {
      screen.Show(absl::StrFormat(
          "NO ANSWER for %g s: it is stopped, or busy with a long push. What it said last:\n\n%s",
          values.timeout_s, StatusText(*before, nullptr)));
    } else {
      return now.status();
    }
    clock.SleepNs(static_cast<int64_t>(values.watch_s * 1e9));
  }
}

absl::Status Show(const Arguments& values, Clock& clock) {
  ASSIGN_OR_RETURN(const std::string token,
                   net::ReadTokenFile(os::ResolveUserPath(values.token_path)));
  std::string tls_pem;
  if (!values.tls_path.empty()) {
    ASSIGN_OR_RETURN(tls_pem, net::ReadTlsFile(os::ResolveUserPath(values.tls_path)));
  }
  StatusClient client(values.address, token, tls_pem);
  if (values.watch_s > 0) return Watch(client, values, clock);
  ASSIGN_OR_RETURN(const proto::ServerStatus status, client.Fetch(values.timeout_s));
  const std::string text = values.prometheus ? PrometheusText(status) : StatusText(status, nullptr);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? absl::OkStatus()
                                  : absl::UnavailableError("standard output takes no more");
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "status: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  net::PrepareGrpc();
  os::Termination termination;
  Arguments values;
  const FlagSet flags = MakeFlags(values);
  const absl::StatusOr<ParsedFlags> parsed = flags.Parse(argc, argv);
  if (!parsed.ok()) return Fail(parsed.status());
  if (parsed->help) {
    std::fputs(flags.Usage().c_str(), stdout);
    return 0;
  }
  const absl::Status checked = Check(*parsed, values);
  if (!checked.ok()) return Fail(checked);
  // It holds nothing that would have to be given back; Ctrl-C is how a watch ends well.
  termination.OnSignal([watch = values.watch_s > 0](int signal) {
    _exit(watch && signal == SIGINT ? 0 : os::ExitCodeOf(signal));
  });
  SystemClock clock;
  const absl::Status shown = Show(values, clock);
  return shown.ok() ? 0 : Fail(shown);
}

}  // namespace
}  // namespace crossover::ps

int main(int argc, char** argv) { return crossover::ps::Main(argc, argv); }
