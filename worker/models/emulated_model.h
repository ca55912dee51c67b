// A model by its timing alone: waits out the forward and backward times of the job's layer
// profile while gradients of the profile's sizes become ready in backward order and really travel.
// It learns nothing.
//
// A step of one worker, from the call of ForwardBackward: the forward pass's whole time, then layer
// by layer, the last first, its backward time; the layer's gradient is then ready. All moments are
// absolute, so that neither late wake-ups nor the work done here (adding gradients) add up. A
// micro-batch of weight w takes w of the profile's times. The job's straggler is waited out here
// too: its gradients are late each in its turn.
//
// Gradients are the same in every step: a pattern by seed of values from 2^-12 to 2^-10 with both
// signs, of which a piece that stays in the processor's cache is added over and over. A constant
// gradient moves a parameter by at most lr / (1 - momentum) x 2^-10 a step, so that without weight
// decay no job can leave fp32.
#ifndef CROSSOVER_WORKER_MODELS_EMULATED_MODEL_H_
#define CROSSOVER_WORKER_MODELS_EMULATED_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "proto/job.pb.h"
#include "worker/models/model.h"

namespace crossover::worker {

// `clock` and `shared` (MakeModel) outlive the model. Refuses a job without layers. Batches may
// hold any samples: their number is not looked at.
absl::StatusOr<std::unique_ptr<Model>> MakeEmulatedModel(const proto::Job& job, int rank,
                                                         Clock& clock,
                                                         os::SharedBufferRegistry* shared);

}  // namespace crossover::worker

#endif  // CROSSOVER_WORKER_MODELS_EMULATED_MODEL_H_
