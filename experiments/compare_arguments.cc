#include "experiments/compare_arguments.h"

#include <utility>

#include "core/status.h"

namespace crossover::experiments {
namespace {

void AddComparison(Arguments& arguments, FlagSet& flags) {
  flags.BeginGroup("The comparison");
  flags.Add({"out", "folder for results and reports; made if missing, must be empty",
             "results/TIME-NAME", SetText(&arguments.out)});
  flags.Add({"resume",
             "go on with the comparison of a folder, from where it stopped; alone: of --out", "",
             SetText(&arguments.resume), true});
  flags.Add({"full", "compare the lenet job too", "", SetBool(&arguments.full), true});
  flags.Add({"dry-run", "show processes, bytes a step and memory; start nothing", "",
             SetBool(&arguments.dry_run), true});
  flags.Add({"keep-going", "go on with the other runs after one has failed", "",
             SetBool(&arguments.keep_going), true});
  flags.Add({"save-parameters", "keep every worker's final parameters in the run's folder", "",
             SetBool(&arguments.save_parameters), true});
  flags.Add(
      {"interface",
       "where the processes listen: a name (eth0), an address, a CIDR (10.0.0.0/8), a list of "
       "these, or all but these (^docker0,lo)",
       "loopback", SetText(&arguments.interface)});
  flags.Add({"network",
             "the network lab's links: 1gbit; 1gbit,0.5ms; worker=1gbit,server=10gbit; a preset "
             "(100mbit, 1gbe, wan); or loopback. Short for --comparison.network",
             "1gbit as root, else loopback", SetText(&arguments.network)});
}

void AddHosts(Arguments& arguments, FlagSet& flags) {
  flags.BeginGroup("Other hosts");
  flags.Add({"hosts",
             "start the processes on these hosts over ssh; a file, one a line: ADDRESS [slots=N] "
             "[role=worker|server|any] [user=NAME] [port=N] [interface=NAME or CIDR]",
             "this machine", SetText(&arguments.hosts)});
  flags.Add({"launcher-interface", "where the hosts reach this machine, as --interface",
             "the address that the hosts see ssh come from",
             SetText(&arguments.launcher_interface)});
  flags.Add({"ssh-option", "an option of ssh, as after its -o; may be given several times", "",
             AppendText(&arguments.ssh_options), false, /*repeatable=*/true});
  flags.Add({"remote-dir", "folder on the hosts for programs and a run's files",
             "~/.cache/crossover", SetText(&arguments.remote_dir)});
  flags.Add({"remote-clean", "remove the programs from the hosts at the end", "",
             SetBool(&arguments.remote_clean), true});
}

void AddOtherModes(Arguments& arguments, FlagSet& flags) {
  flags.BeginGroup("Results that exist");
  flags.Add({"report",
             "results folder whose report.md and report.html are made again from its "
             "results.jsonl; runs nothing",
             "", SetText(&arguments.report)});
  flags.Add(
      {"diff",
       "set the results of two folders side by side (--diff A B) and mark what exceeds noise; "
       "with --out, in diff.md there too",
       "", SetBool(&arguments.diff), true});
  flags.BeginGroup("Processes that were started by hand");
  flags.Add({"reduce",
             "make results and reports of their --report files: the arguments are folders, a run "
             "each, or the files of one run; starts nothing",
             "", SetBool(&arguments.reduce), true});
  flags.Add({"job", "the job of the runs that are reduced", "job.textproto beside the reports",
             SetText(&arguments.job_path)});
}

void AddPrograms(Arguments& arguments, FlagSet& flags) {
  flags.BeginGroup("Other programs");
  flags.Add({"worker-binary", "the worker to start", "the one built with this program",
             SetText(&arguments.worker_binary)});
  flags.Add({"server-binary", "the server to start", "the one built with this program",
             SetText(&arguments.server_binary)});
}

void AddExamples(FlagSet& flags) {
  flags.AddExample("experiments/run", "the default comparison, a few minutes");
  flags.AddExample("experiments/run --comparison.strategies=ps_sync,allreduce_ring --workers=2",
                   "two strategies, two workers");
  flags.AddExample("experiments/run --network=1gbit,0.5ms",
                   "on a cluster imitated on this machine (as root)");
  flags.AddExample("experiments/run --hosts=hosts --ssh-option=IdentityFile=key",
                   "on the hosts that the file `hosts` lists");
  flags.AddExample("experiments/run --comparison.repetitions=6 --out=/tmp/six",
                   "enough repetitions for 95% intervals");
  flags.AddExample(
      "experiments/run my_job.textproto --optimizer.name=adam "
      "--learning_rate.base=0.001",
      "a job of your own, with two fields overridden");
  flags.AddExample("experiments/run --comparison.tune.lr.trials=4",
                   "first a search for each strategy's learning rate: 4 x 6 extra runs");
  flags.AddExample("experiments/run --resume=results/20260301-150509-fashion-mlp",
                   "after Ctrl-C, a failure or a crash");
  flags.AddExample("experiments/run --diff results/before results/after", "what a change changed");
  flags.AddExample("experiments/run --reduce results/ps results/ring --out=results/both",
                   "a report of two runs by hand, whose files lie in the two folders");
  flags.AddExample("experiments/run --dry-run --workers=8", "what 8 workers would cost");
}

FlagSet MakeFlags(Arguments& arguments) {
  FlagSet flags(
      "experiments/run [flags] [JOB.textproto]",
      "Trains one job under every strategy of synchronising gradients, each as real "
      "processes, and reports throughput, communication, accuracy and cost side by side.");
  AddComparison(arguments, flags);
  AddHosts(arguments, flags);
  AddOtherModes(arguments, flags);
  AddPrograms(arguments, flags);
  flags.AddJobFields();
  AddExamples(flags);
  return flags;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& words) {
  CommandLine line;
  line.words = words;
  std::vector<const char*> argv = {"compare"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const FlagSet flags = MakeFlags(line.arguments);
  ASSIGN_OR_RETURN(line.parsed, flags.Parse(static_cast<int>(argv.size()), argv.data()));
  if (!line.arguments.network.empty()) {
    line.parsed.job_overrides.push_back({"comparison.network", line.arguments.network});
  }
  return line;
}

std::string CompareUsage() {
  Arguments arguments;
  return MakeFlags(arguments).Usage();
}

}  // namespace crossover::experiments
