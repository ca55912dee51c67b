// A server's status in Prometheus's text exposition format (version 0.0.4). Pure.
#ifndef CROSSOVER_PS_STATUS_PROMETHEUS_H_
#define CROSSOVER_PS_STATUS_PROMETHEUS_H_

#include <string>

#include "proto/status.pb.h"

namespace crossover::ps {

// Every metric with its HELP and TYPE, every sample with the labels job_name and server. Names and
// labels are the same whatever the values, so that series do not come and go, but for the
// heartbeats that are not known.
std::string PrometheusText(const proto::ServerStatus& status);

}  // namespace crossover::ps

#endif  // CROSSOVER_PS_STATUS_PROMETHEUS_H_
