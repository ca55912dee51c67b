#include "core/data_type.h"

#include "core/check.h"

namespace crossover {

size_t BytesOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat64:
    case DataType::kInt64:
      return 8;
  }
  CheckFailed(__FILE__, __LINE__, "type", "is one of the enumerators");
}

const char* NameOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "fp32";
    case DataType::kFloat16:
      return "fp16";
    case DataType::kBfloat16:
      return "bf16";
    case DataType::kFloat64:
      return "fp64";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
  }
  CheckFailed(__FILE__, __LINE__, "type", "is one of the enumerators");
}

const char* NameOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kAverage:
      return "average";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
  }
  CheckFailed(__FILE__, __LINE__, "op", "is one of the enumerators");
}

}  // namespace crossover
