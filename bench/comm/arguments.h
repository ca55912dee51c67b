// comm_test's command line.
#ifndef CROSSOVER_BENCH_COMM_ARGUMENTS_H_
#define CROSSOVER_BENCH_COMM_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/comm/test_plan.h"
#include "core/flag_parser.h"
#include "process/member_process.h"

namespace crossover::bench {

struct Arguments {
  PlanFlags plan;
  int64_t local_ranks = 0;  // 0: two, with --hosts one for each slot
  int64_t rounds = 0;       // 0: one, with --target nine
  std::string network;
  int64_t ranks_per_node = 1;  // in the lab
  std::string hosts;           // a file
  std::string remote_dir;
  std::string launcher_interface;
  std::vector<std::string> ssh_options;
  std::string peers;
  std::string peers_directory;
  std::string target;
  std::string json;
  std::string fit;
  std::string use_fit;
  std::string from;
  // A rank that somebody else starts.
  process::MemberFlags member;
  std::string rank;  // "" unless given
  int64_t world_size = 0;
  std::string rendezvous_host = "rank0";
};

// `arguments` is borrowed and outlives every Parse.
FlagSet MakeFlags(Arguments& arguments);
// What one flag says of another: which do not go together, and what is missing. `words` is the
// command line without the program: a flag that would be ignored is refused.
absl::Status CheckArguments(const Arguments& arguments, const ParsedFlags& parsed,
                            const std::vector<std::string>& words);

}  // namespace crossover::bench

#endif  // CROSSOVER_BENCH_COMM_ARGUMENTS_H_
