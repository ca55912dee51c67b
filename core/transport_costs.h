// The constants by which algorithms are chosen (allreduce/choice.h): read from the file that
// comm_test --fit writes, and which of them a job goes by. Pure.
#ifndef CROSSOVER_CORE_TRANSPORT_COSTS_H_
#define CROSSOVER_CORE_TRANSPORT_COSTS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace crossover {

// Parses JSON lines of at most 1 MiB, one a transport. Errors (InvalidArgument): "FILE:LINE: what;
// allowed: ...; fix: ...".
absl::StatusOr<std::vector<proto::TransportCosts>> ParseFit(std::string_view text,
                                                            std::string_view file);

// What the job's schedules travel over: "tcp" or "grpc".
const char* ScheduleTransport(const proto::AllReduce& allreduce);

// Of that transport. Null: the job has none, and the shipped ones stand in. Borrowed from the job.
const proto::TransportCosts* CostsOfTransport(const proto::AllReduce& allreduce);
// The same within hosts whose ranks share memory.
const proto::TransportCosts* CostsOfSharedMemory(const proto::AllReduce& allreduce);

}  // namespace crossover

#endif  // CROSSOVER_CORE_TRANSPORT_COSTS_H_
