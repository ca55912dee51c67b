#include "core/emulation.h"
#include "worker/models/emulated_model.h"
#include "worker/models/factories.h"
#include "worker/models/model.h"
#include "worker/models/torch_setup.h"

namespace crossover::worker {
namespace {

struct Entry {
  proto::Model::Name name;
  absl::StatusOr<std::unique_ptr<Model>> (*make)(const DataShape& shape,
                                                 os::SharedBufferRegistry* shared);
};

// A new model is a file with its factory, a name in job.proto and a line here. (`emulated`
// computes nothing and takes no shape: MakeModel asks for it first.)
constexpr Entry kModels[] = {
    {proto::Model::mlp, MakeMlp},
    {proto::Model::lenet, MakeLenet},
    {proto::Model::resnet18, MakeResnet18},
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const proto::Job& job, const DataShape& shape,
                                                 int rank, Clock& clock,
                                                 os::SharedBufferRegistry* shared) {
  if (IsEmulated(job)) return MakeEmulatedModel(job, rank, clock, shared);
  for (const Entry& entry : kModels) {
    if (entry.name != job.model()) continue;
    SetUpTorch(job.seed());
    return entry.make(shape, shared);
  }
  return absl::UnimplementedError("model: " + proto::Model::Name_Name(job.model()) +
                                  " is in job.proto but not in worker/models/models.cc");
}

}  // namespace crossover::worker
