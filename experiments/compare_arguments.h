// The compare binary's command line. Pure: what files and folders hold is looked at by whoever
// uses them.
#ifndef CROSSOVER_EXPERIMENTS_COMPARE_ARGUMENTS_H_
#define CROSSOVER_EXPERIMENTS_COMPARE_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/flag_parser.h"

namespace crossover::experiments {

struct Arguments {
  std::string out;
  std::string resume;  // a folder; "true": that of out
  std::string report;
  std::string job_path;  // with reduce
  std::string interface;
  std::string network;
  std::string hosts;  // a file
  std::string remote_dir;
  std::string launcher_interface;
  std::vector<std::string> ssh_options;
  std::string worker_binary;
  std::string server_binary;
  bool full = false;
  bool diff = false;
  bool dry_run = false;
  bool reduce = false;
  bool keep_going = false;
  bool save_parameters = false;
  bool remote_clean = false;
};

struct CommandLine {
  Arguments arguments;
  ParsedFlags parsed;
  std::vector<std::string> words;  // as they were given, without the program
};

// Errors name the flag, what was found and what is allowed (core/flag_parser.h).
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& words);
// What --help prints.
std::string CompareUsage();

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_COMPARE_ARGUMENTS_H_
