// One line of what was measured: of our collectives, of a peer library's, or of a limit (a raw
// stream, memcpy). Peers print such lines too. Pure.
#ifndef CROSSOVER_BENCH_COMM_RECORD_H_
#define CROSSOVER_BENCH_COMM_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"

namespace crossover::bench {

struct Record {
  std::string library;    // "crossover", "gloo", "openmpi"; "limit"
  std::string transport;  // "tcp", "shared_memory", ...; of a limit also "memory"
  std::string algorithm;  // of a limit: "one_pair", "all_duplex", "memcpy", "lab_probe"
  std::string op;         // "all_reduce", ...; of a limit "copy"
  std::string type = "fp32";
  std::string reduce = "sum";
  std::string buffers = "private";  // or "shared"
  std::string network;              // the lab's spec; "" is whatever lies between the ranks
  int64_t ranks_per_node = 1;       // in the lab
  std::string host;                 // that of rank 0, or of the lab
  bool in_place = true;
  int64_t ranks = 0;
  int64_t bytes = 0;  // of a rank's buffer, of all N blocks where there are blocks
  int64_t round = 0;  // of the comparison with peers
  // Of a call: the median over the repetitions, each the maximum over the ranks; smallest, largest.
  double time_us = 0;
  double time_us_min = 0;
  double time_us_max = 0;
  double algbw_GBps = 0;             // bytes / time
  double busbw_GBps = 0;             // algbw x BusFactor
  double cpu_us = 0;                 // of all ranks together, user and system, for a call
  int64_t wrong = 0;                 // elements of all ranks, over both checks
  int64_t slowest_rank = -1;         // by its own median; -1: not known
  std::vector<double> rank_time_us;  // by rank: its own median
};

// What tells measurements apart, but for the round: of a Record, or of what has its fields.
template <typename T>
auto MeasurementKey(const T& of) {
  return std::tie(of.library, of.network, of.ranks_per_node, of.transport, of.algorithm, of.op,
                  of.type, of.reduce, of.buffers, of.in_place, of.ranks, of.bytes);
}

// 2(N-1)/N for AllReduce, (N-1)/N for ReduceScatter and AllGather, else 1 (nccl-tests).
double BusFactor(std::string_view op, int64_t ranks);
// Fills both rates from time_us.
void SetRates(Record& record);

std::string WriteRecord(const Record& record);  // one line of JSON without the newline
absl::StatusOr<Record> ReadRecord(std::string_view line);
// All lines of a file's text; lines that do not begin with '{' are passed over (peers' launchers
// say things of their own).
absl::StatusOr<std::vector<Record>> ReadRecords(std::string_view text);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_RECORD_H_
