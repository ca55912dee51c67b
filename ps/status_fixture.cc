#include "ps/status_fixture.h"

namespace crossover::ps {
namespace {

void FillTotals(proto::ServerReport& totals) {
  totals.set_parameter_bytes(407'080);
  totals.set_state_bytes(814'160);
  totals.set_transient_bytes_max(131'072);
  totals.set_apply_ns(1'250'000'000);
  totals.set_global_phases(3'120);
  totals.set_global_phase_ns(750'000'000);
  totals.set_pushes(2'500);
  totals.set_payload_received_bytes(163'840'000);
  totals.set_payload_sent_bytes(163'774'464);
  for (const int64_t count : {2'000, 400, 50, 0, 0, 0, 0, 0, 30, 20}) {
    totals.add_staleness_histogram(count);
  }
  totals.set_staleness_max(9);
  for (const double held_s : {0.0, 2.345, 0.0})
    totals.add_held_ns(static_cast<int64_t>(held_s * 1e9));
}

void FillWorkers(proto::ServerStatus& status) {
  proto::WorkerStatus& first = *status.add_workers();
  first.set_state(proto::WorkerStatus::CONNECTED);
  first.set_address("10.0.0.2:51514");
  first.set_step(1'041);
  first.set_silent_s(0.012);
  first.set_queued_messages(2);
  first.set_queued_bytes(131'168);
  first.set_unanswered_parts(3);
  first.set_heartbeat_s(0.41);
  first.set_phase("train");
  proto::WorkerStatus& second = *status.add_workers();
  second.set_state(proto::WorkerStatus::LOST);
  second.set_address("10.0.0.3:40004");
  second.set_step(1'038);
  second.set_silent_s(75);
  second.set_unanswered_parts(8);
  proto::WorkerStatus& third = *status.add_workers();
  third.set_step(-1);
  third.set_silent_s(-1);
}

}  // namespace

proto::ServerStatus SomeStatus() {
  proto::ServerStatus status;
  status.set_job("a \"small\" job");
  status.set_job_fingerprint(0x12ab);
  status.set_strategy("ps_ssp");
  status.set_rank(1);
  status.set_servers(2);
  status.set_address("10.0.0.1:40123");
  status.set_host("alpha");
  status.set_pid(4711);
  status.set_uptime_s(72.25);
  status.set_rendezvous_address("10.0.0.1:29500");
  status.set_step(1'041);
  status.set_total_steps(2'000);
  status.set_parts(4);
  status.set_version_lowest(3'120);
  status.set_version_highest(3'123);
  FillTotals(*status.mutable_totals());
  status.set_rss_bytes(23'400'448);
  status.set_peak_rss_bytes(25'001'984);
  status.set_cpu_s(12.3);
  status.set_credits(8);
  FillWorkers(status);
  return status;
}

}  // namespace crossover::ps
