// Overriding fields by path, listing them, and the nearest of several names.
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crossover {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string OverrideError(std::string_view path, std::string_view value) {
  proto::Job job;
  const absl::Status status = OverrideField(path, value, job);
  EXPECT_FALSE(status.ok()) << path << "=" << value;
  EXPECT_EQ(PrintJob(job), "") << "a refused override changed the job";
  return std::string(status.message());
}

TEST(OverrideFieldTest, SetsEveryKindOfField) {
  proto::Job job;
  EXPECT_TRUE(OverrideField("name", "x = y", job).ok());
  EXPECT_TRUE(OverrideField("model", "resnet18", job).ok());
  EXPECT_TRUE(OverrideField("global_batch", "1024", job).ok());
  EXPECT_TRUE(OverrideField("workers", "8", job).ok());
  EXPECT_TRUE(OverrideField("seed", "18446744073709551615", job).ok());
  EXPECT_TRUE(OverrideField("optimizer.momentum", "5e-1", job).ok());
  EXPECT_TRUE(OverrideField("drop_last", "", job).ok());
  EXPECT_TRUE(OverrideField("deterministic", "false", job).ok());
  EXPECT_EQ(job.name(), "x = y");
  EXPECT_EQ(job.model(), proto::Model::resnet18);
  EXPECT_EQ(job.global_batch(), 1024);
  EXPECT_EQ(job.workers(), 8);
  EXPECT_EQ(job.seed(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(job.optimizer().momentum(), 0.5);
  EXPECT_TRUE(job.drop_last());
  EXPECT_TRUE(job.has_deterministic());
  EXPECT_FALSE(job.deterministic());
}

TEST(OverrideFieldTest, AListIsReplaced) {
  proto::Job job;
  ASSERT_TRUE(OverrideField("comparison.strategies", "single, ps_sync", job).ok());
  ASSERT_TRUE(OverrideField("comparison.strategies", "local_sgd", job).ok());
  ASSERT_EQ(job.comparison().strategies_size(), 1);
  EXPECT_EQ(job.comparison().strategies(0), proto::Strategy::local_sgd);
  ASSERT_TRUE(OverrideField("comparison.strategies", "", job).ok());
  EXPECT_EQ(job.comparison().strategies_size(), 0);
}

TEST(OverrideFieldTest, AListWithOneWrongValueChangesNothing) {
  EXPECT_EQ(OverrideError("comparison.strategies", "single,ps_sink"),
            "--comparison.strategies=ps_sink: not one of its values (did you mean \"ps_sync\"?); "
            "allowed: single, ps_sync, ps_ssp, ps_async, allreduce_ring, local_sgd, ps_backup, "
            "ps_async_dc, ps_async_scaled, ps_elastic, ps_groups");
}

TEST(OverrideFieldTest, AnEmptyItemOfAListIsRefused) {
  for (const char* list : {"single,,ps_sync", "single,", ",single", "single, ,ps_sync", ","}) {
    EXPECT_THAT(OverrideError("comparison.strategies", list),
                AllOf(StartsWith(absl::StrCat("--comparison.strategies=", list,
                                              ": an item of the list is empty; allowed: ")),
                      HasSubstr("single, ps_sync, ps_ssp")));
  }
}

TEST(OverrideFieldTest, WrongValues) {
  EXPECT_EQ(OverrideError("optimizer.momentum", "abc"),
            "--optimizer.momentum=abc: not a number; allowed: a decimal number");
  EXPECT_EQ(OverrideError("optimizer.momentum", "0x10"),
            "--optimizer.momentum=0x10: not a number; allowed: a decimal number");
  EXPECT_EQ(OverrideError("optimizer.momentum", ""),
            "--optimizer.momentum=: not a number; allowed: a decimal number");
  EXPECT_EQ(OverrideError("optimizer.momentum", "nan"),
            "--optimizer.momentum=nan: not a finite number; allowed: a decimal number");
  EXPECT_EQ(OverrideError("optimizer.momentum", "1e999"),
            "--optimizer.momentum=1e999: not a finite number; allowed: a decimal number");
  EXPECT_EQ(OverrideError("workers", "4x"),
            "--workers=4x: not a whole number; allowed: a whole number");
  EXPECT_EQ(OverrideError("workers", "3000000000"),
            "--workers=3000000000: out of range; allowed: a whole number from -2147483648 to "
            "2147483647");
  EXPECT_EQ(OverrideError("seed", "-5"),
            "--seed=-5: out of range; allowed: a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(OverrideError("drop_last", "yes"),
            "--drop_last=yes: not true or false; allowed: true, false");
  EXPECT_EQ(OverrideError("model", "LeNet"),
            "--model=LeNet: not one of its values (did you mean \"lenet\"?); allowed: mlp, lenet, "
            "resnet18, emulated");
  EXPECT_LT(OverrideError("workers", std::string(100000, 'x')).size(), 300u);
}

TEST(OverrideFieldTest, UnknownPaths) {
  EXPECT_EQ(OverrideError("optimizer.momentun", "1"),
            "--optimizer.momentun: optimizer has no such field (did you mean "
            "\"--optimizer.momentum\"?); allowed: --optimizer.name, --optimizer.momentum, "
            "--optimizer.weight_decay, --optimizer.beta1, --optimizer.beta2, --optimizer.epsilon, "
            "--optimizer.clip_norm");
  EXPECT_THAT(OverrideError("global-batch", "1"),
              StartsWith("--global-batch: the job has no such field (did you mean "
                         "\"--global_batch\"?); allowed: name, model, "));
  EXPECT_THAT(OverrideError("momentum", "1"), HasSubstr("did you mean \"--optimizer.momentum\"?"));
  EXPECT_THAT(OverrideError("data", "x"),
              AllOf(StartsWith("--data: a group of fields has no value of its own; allowed: "),
                    HasSubstr("--data.format, --data.path")));
  // Of several levels, and of those with a flag alone.
  EXPECT_THAT(OverrideError("comparison.tune", "x"), HasSubstr("--comparison.tune.lr.trials, "));
  EXPECT_THAT(OverrideError("emulated.layers", "x"), Not(HasSubstr(", --emulated.layers")));
  for (const char* path : {"", ".", "model.x", "emulated.layers", "emulated.layers.name", "data.",
                           ".data", "data..path", "xyzzyxyzzy"}) {
    EXPECT_THAT(OverrideError(path, "1"), HasSubstr("no such field")) << path;
  }
}

TEST(JobFieldsTest, EachMeansSomething) {
  std::map<std::string, std::string> meanings = JobFieldMeanings();
  for (const FieldHelp& field : JobFields()) {
    EXPECT_NE(meanings[field.path], "") << field.path << " has no comment in proto/job.proto";
  }
  EXPECT_EQ(meanings.size(), JobFields().size());
  // A comment of several lines and sentences.
  EXPECT_EQ(meanings["data.path"], "The directory of the data files");
  EXPECT_EQ(meanings["measure.evaluate_every_steps"],
            "Rank 0 keeps its parameters every so many steps, to be evaluated after the training, "
            "off the clock; 0 means at the end of every epoch");
}

TEST(JobFieldsTest, ListsEveryScalarWithTypeAndDefault) {
  const std::vector<FieldHelp> fields = JobFields();
  const auto find = [&](const std::string& path) {
    for (const FieldHelp& field : fields) {
      if (field.path == path) return field.type + " / " + field.default_value;
    }
    return std::string("missing");
  };
  EXPECT_EQ(fields.front().path, "name");
  EXPECT_EQ(find("name"), "text / fashion-mlp");
  EXPECT_EQ(find("model"), "mlp|lenet|resnet18|emulated / mlp");
  EXPECT_EQ(find("workers"), "a whole number / 4");
  EXPECT_EQ(find("deterministic"), "true|false / false");
  EXPECT_EQ(find("optimizer.momentum"), "a decimal number / 0.9");
  EXPECT_EQ(find("learning_rate.warmup_steps"), "a whole number / unset");
  EXPECT_EQ(find("comparison.strategies"),
            "list of single|ps_sync|ps_ssp|ps_async|allreduce_ring|local_sgd|ps_backup|"
            "ps_async_dc|ps_async_scaled|ps_elastic|ps_groups / unset");
  EXPECT_EQ(find("comparison.network"), "text / unset");
  EXPECT_EQ(find("optimizer"), "missing");
  for (const FieldHelp& field : fields) EXPECT_TRUE(IsJobField(field.path)) << field.path;
  EXPECT_EQ(find("comparison.tune.lr.trials"), "a whole number / 0");
  EXPECT_EQ(find("emulated.layers.forward_ms"), "missing");  // a list of groups is for files
  EXPECT_FALSE(IsJobField("emulated.layers.forward_ms"));
  EXPECT_FALSE(IsJobField("optimizer"));
  EXPECT_FALSE(IsJobField("optimizer.nme"));
  EXPECT_FALSE(IsJobField(""));
}

TEST(NearestNameTest, FindsSlipsButNothingFarAway) {
  const std::vector<std::string> names = {"model", "data.path", "steps", "optimizer.momentum"};
  EXPECT_EQ(NearestName("modle", names), "model");
  EXPECT_EQ(NearestName("MODEL", names), "model");
  EXPECT_EQ(NearestName("step", names), "steps");
  EXPECT_EQ(NearestName("momentum", names), "optimizer.momentum");
  EXPECT_EQ(NearestName("data-path", names), "data.path");
  EXPECT_EQ(NearestName("zebra", names), "");
  EXPECT_EQ(NearestName("x", {"y"}), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName("model", {}), "");
  EXPECT_EQ(NearestName(std::string(100000, 'm'), names), "");
}

}  // namespace
}  // namespace crossover
