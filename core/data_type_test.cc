#include "core/data_type.h"

#include <gtest/gtest.h>

namespace crossover {
namespace {

TEST(DataTypeTest, SizesAndNames) {
  EXPECT_EQ(BytesOf(DataType::kFloat32), 4u);
  EXPECT_EQ(BytesOf(DataType::kFloat16), 2u);
  EXPECT_EQ(BytesOf(DataType::kBfloat16), 2u);
  EXPECT_EQ(BytesOf(DataType::kFloat64), 8u);
  EXPECT_EQ(BytesOf(DataType::kInt32), 4u);
  EXPECT_EQ(BytesOf(DataType::kInt64), 8u);
  EXPECT_STREQ(NameOf(DataType::kFloat32), "fp32");
  EXPECT_STREQ(NameOf(DataType::kFloat16), "fp16");
  EXPECT_STREQ(NameOf(DataType::kBfloat16), "bf16");
  EXPECT_STREQ(NameOf(DataType::kFloat64), "fp64");
  EXPECT_STREQ(NameOf(DataType::kInt32), "int32");
  EXPECT_STREQ(NameOf(DataType::kInt64), "int64");
}

TEST(ReduceOpTest, Names) {
  EXPECT_STREQ(NameOf(ReduceOp::kSum), "sum");
  EXPECT_STREQ(NameOf(ReduceOp::kAverage), "average");
  EXPECT_STREQ(NameOf(ReduceOp::kMin), "min");
  EXPECT_STREQ(NameOf(ReduceOp::kMax), "max");
}

TEST(DataTypeDeathTest, AnUnknownTypeHasNoSize) {
  EXPECT_DEATH(BytesOf(static_cast<DataType>(7)), "is one of the enumerators");
}

}  // namespace
}  // namespace crossover
