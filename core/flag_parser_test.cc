#include "core/flag_parser.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// A binary's flags with their targets.
class FlagSetTest : public ::testing::Test {
 protected:
  FlagSetTest() {
    flags_.Add({"out", "where results go", "results/", SetText(&out_)});
    flags_.Add({"port", "port to listen on", "0", SetWhole(&port_, 0, 65535)});
    flags_.Add({"dry_run", "start nothing", "false", SetBool(&dry_run_), true});
    flags_.BeginGroup("Network");
    flags_.Add({"scale", "of all", "1", SetReal(&scale_, 0, 2)});
    flags_.Add({"server", "an address", "", AppendText(&servers_), false, true});
  }

  absl::StatusOr<ParsedFlags> Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    return flags_.Parse(static_cast<int>(arguments.size()), arguments.data());
  }
  ParsedFlags Parsed(std::vector<const char*> arguments) {
    const auto parsed = Parse(std::move(arguments));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? *parsed : ParsedFlags();
  }
  std::string Error(std::vector<const char*> arguments) {
    const auto parsed = Parse(std::move(arguments));
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(parsed.status().message());
  }

  FlagSet flags_{"program [flags] [FILE]", "Does what it does."};
  std::string out_ = "unset";
  int64_t port_ = -1;
  double scale_ = -1;
  bool dry_run_ = false;
  std::vector<std::string> servers_;
};

TEST_F(FlagSetTest, NoArguments) {
  const ParsedFlags parsed = Parsed({});
  EXPECT_FALSE(parsed.help);
  EXPECT_THAT(parsed.positional, IsEmpty());
  EXPECT_EQ(out_, "unset");
  EXPECT_TRUE(flags_.Parse(0, nullptr).ok());
}

TEST_F(FlagSetTest, SetsFlagsAndReturnsPositionals) {
  const ParsedFlags parsed = Parsed({"a", "--out=x=y", "--port=80", "--dry_run", "b", "-",
                                     "--scale=0.5", "--server=p", "--server=q", ""});
  EXPECT_EQ(out_, "x=y");
  EXPECT_EQ(port_, 80);
  EXPECT_TRUE(dry_run_);
  EXPECT_EQ(scale_, 0.5);
  EXPECT_THAT(servers_, ElementsAre("p", "q"));
  EXPECT_THAT(parsed.positional, ElementsAre("a", "b", "-", ""));
}

TEST_F(FlagSetTest, AnEmptyValueIsAValue) {
  Parsed({"--out="});
  EXPECT_EQ(out_, "");
}

TEST_F(FlagSetTest, BoolsTakeTrueAndFalse) {
  dry_run_ = true;
  Parsed({"--dry_run=false"});
  EXPECT_FALSE(dry_run_);
  EXPECT_EQ(Error({"--dry_run=yes"}), "--dry_run=yes: not true or false; allowed: true, false");
  // What follows a bool is an argument.
  EXPECT_THAT(Parsed({"--dry_run", "false"}).positional, ElementsAre("false"));
  EXPECT_TRUE(dry_run_);
}

TEST_F(FlagSetTest, TwoDashesEndTheFlags) {
  const ParsedFlags parsed = Parsed({"--port=1", "--", "--out=x", "--", "--help", "-y"});
  EXPECT_THAT(parsed.positional, ElementsAre("--out=x", "--", "--help", "-y"));
  EXPECT_FALSE(parsed.help);
  EXPECT_EQ(out_, "unset");
}

TEST_F(FlagSetTest, HelpSetsNothingAndForgivesEverything) {
  for (const char* help : {"-h", "--help"}) {
    EXPECT_TRUE(Parsed({"--out=x", "--nonsense", help}).help);
    EXPECT_EQ(out_, "unset");
  }
}

TEST_F(FlagSetTest, AValueMustBeAttached) {
  EXPECT_EQ(Error({"--port", "80"}), "--port: needs a value after '='; fix: --port=80");
  EXPECT_EQ(Error({"--port"}), "--port: needs a value after '='; fix: --port=VALUE");
  EXPECT_EQ(Error({"--port", "--dry_run"}), "--port: needs a value after '='; fix: --port=VALUE");
}

TEST_F(FlagSetTest, WrongValues) {
  EXPECT_EQ(Error({"--port=x"}),
            "--port=x: not a whole number; allowed: a whole number from 0 to 65535");
  EXPECT_EQ(Error({"--port=65536"}),
            "--port=65536: out of range; allowed: a whole number from 0 to 65535");
  EXPECT_EQ(Error({"--scale=x"}), "--scale=x: not a number; allowed: a number from 0 to 2");
  EXPECT_EQ(Error({"--scale=nan"}), "--scale=nan: out of range; allowed: a number from 0 to 2");
  EXPECT_EQ(port_, -1);
}

TEST_F(FlagSetTest, UnknownFlags) {
  EXPECT_EQ(Error({"--prot=1"}),
            "--prot: unknown flag (did you mean --port?); allowed: the flags that --help lists");
  EXPECT_EQ(Error({"--dry-run"}),
            "--dry-run: unknown flag (did you mean --dry_run?); allowed: the flags that --help "
            "lists");
  EXPECT_EQ(Error({"--zzzzzz"}), "--zzzzzz: unknown flag; allowed: the flags that --help lists");
  EXPECT_THAT(Error({"--=1"}), StartsWith("--: unknown flag"));
  EXPECT_THAT(Error({"-port=1"}),
              StartsWith("-port=1: flags begin with two dashes; fix: --port=1"));
  EXPECT_THAT(Error({"--workers=2"}), StartsWith("--workers: unknown flag"));
}

TEST_F(FlagSetTest, TwiceIsRefusedUnlessRepeatable) {
  EXPECT_EQ(Error({"--port=1", "--port=2"}), "--port: given a second time; allowed: once");
  EXPECT_EQ(Error({"--dry_run", "--dry_run"}), "--dry_run: given a second time; allowed: once");
}

TEST_F(FlagSetTest, FieldsOfTheJobAreCollectedInOrder) {
  flags_.AddJobFields();
  const ParsedFlags parsed =
      Parsed({"--workers=2", "--drop_last", "--port=1", "--optimizer.momentum=0.5"});
  EXPECT_THAT(parsed.job_overrides, ElementsAre(Pair("workers", "2"), Pair("drop_last", "true"),
                                                Pair("optimizer.momentum", "0.5")));
  proto::Job job;
  ASSERT_TRUE(ApplyOverrides(parsed, job).ok());
  EXPECT_EQ(job.workers(), 2);
  EXPECT_TRUE(job.drop_last());
  EXPECT_EQ(job.optimizer().momentum(), 0.5);
}

TEST_F(FlagSetTest, StepsAndEpochsReplaceEachOther) {
  flags_.AddJobFields();
  proto::Job job;
  ASSERT_TRUE(ApplyOverrides(Parsed({"--steps=60"}), job).ok());
  EXPECT_EQ(job.steps(), 60);
  EXPECT_EQ(job.epochs(), 0);
  ASSERT_TRUE(ApplyOverrides(Parsed({"--epochs=2"}), job).ok());
  EXPECT_EQ(job.steps(), 0);
  EXPECT_EQ(job.epochs(), 2);
  // 0 asks for no length, and of both flags each counts: ValidateJob judges them.
  ASSERT_TRUE(ApplyOverrides(Parsed({"--steps=0"}), job).ok());
  EXPECT_EQ(job.epochs(), 2);
  ASSERT_TRUE(ApplyOverrides(Parsed({"--epochs=3", "--steps=60"}), job).ok());
  EXPECT_EQ(job.steps(), 60);
  EXPECT_EQ(job.epochs(), 3);
}

TEST_F(FlagSetTest, ErrorsWithFieldsOfTheJob) {
  flags_.AddJobFields();
  EXPECT_THAT(Error({"--wrokers=2"}), HasSubstr("(did you mean --workers?)"));
  EXPECT_THAT(Error({"--prot=2"}), HasSubstr("(did you mean --port?)"));
  EXPECT_THAT(Error({"--momentum=2"}), HasSubstr("(did you mean --optimizer.momentum?)"));
  EXPECT_EQ(Error({"--workers", "2"}), "--workers: needs a value after '='; fix: --workers=2");
  EXPECT_EQ(Error({"--workers=2", "--workers=2"}), "--workers: given a second time; allowed: once");
  EXPECT_THAT(Error({"--data=x"}), AllOf(StartsWith("--data: a group of fields has no value"),
                                         HasSubstr("--data.path")));
  EXPECT_THAT(Error({"--data.pth=x"}), HasSubstr("did you mean \"--data.path\"?"));
  proto::Job job;
  const absl::Status status = ApplyOverrides(Parsed({"--workers=two"}), job);
  EXPECT_EQ(status.message(), "--workers=two: not a whole number; allowed: a whole number");
}

TEST_F(FlagSetTest, UsageHasGroupsExamplesAndFields) {
  flags_.AddExample("program --port=80", "listens where it is asked to");
  EXPECT_THAT(
      flags_.Usage(),
      AllOf(StartsWith("Does what it does.\n\nUsage: program [flags] [FILE]\n"),
            HasSubstr("\nExamples\n  # listens where it is asked to\n  program --port=80\n"),
            HasSubstr("\nFlags\n  --out=VALUE"),
            HasSubstr("where results go (default: results/)\n"), HasSubstr("  --dry_run  "),
            HasSubstr("\nNetwork\n  --scale=VALUE"), HasSubstr("an address (repeatable)\n")));
  EXPECT_THAT(flags_.Usage(), Not(HasSubstr("--workers")));
  flags_.AddJobFields();
  EXPECT_THAT(
      flags_.Usage(),
      AllOf(HasSubstr("\n  --workers                       Processes that compute gradients "
                      "(a whole number; default: 4)\n"),
            HasSubstr("\n\n  --optimizer.name ")));
}

TEST_F(FlagSetTest, UsageIsNoWiderThan100Columns) {
  flags_.Add(
      {"long", std::string(40, 'x') + " " + std::string(30, 'y') + " z", "d", SetText(&out_)});
  flags_.AddJobFields();
  const std::string blanks(34, ' ');
  EXPECT_THAT(flags_.Usage(),
              HasSubstr("  --long=VALUE" + blanks.substr(14) + std::string(40, 'x') + "\n" +
                        blanks + std::string(30, 'y') + " z (default: d)\n"));
  std::istringstream lines(flags_.Usage());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(FlagSetDeathTest, ItsOwnMistakesAreBugs) {
  std::string text;
  EXPECT_DEATH(
      {
        FlagSet flags("p", "q");
        flags.Add({"a", "", "", SetText(&text)});
        flags.Add({"a", "", "", SetText(&text)});
      },
      "added once");
  EXPECT_DEATH(
      {
        FlagSet flags("p", "q");
        flags.Add({"workers", "", "", SetText(&text)});
        flags.AddJobFields();
      },
      "hides no field");
}

}  // namespace
}  // namespace crossover
