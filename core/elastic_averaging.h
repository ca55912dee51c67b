// Elastic averaging (EASGD: Zhang, Choromanska, LeCun 2015): a worker and the centre are drawn
// together by the part alpha of their distance, x -= alpha (x - c) and c += alpha (x - c), both
// from the values before. The servers, which hold the centre, answer with its new values alone: as
// x - c_new = (1 - alpha) (x - c), the worker's move follows from these. Pure, elementwise.
#ifndef CROSSOVER_CORE_ELASTIC_AVERAGING_H_
#define CROSSOVER_CORE_ELASTIC_AVERAGING_H_

#include <cstdint>
#include <span>

#include "proto/job.pb.h"

namespace crossover {

// The job's alpha: ps.elastic_rate, or by default 0.9 / workers. Above 0 and below 1 in a job that
// has passed ValidateJob.
double ElasticRate(const proto::Job& job);

// Whether a worker and the centre are drawn together after a step (counted from 0): after every
// `local_steps`-th.
bool ExchangesAfter(int64_t local_steps, int64_t step);

// centre += alpha (worker - centre). Sizes are equal (CHECK), as below.
void MoveCentre(double alpha, std::span<float> centre, std::span<const float> worker);
// worker -= alpha / (1 - alpha) (worker - centre), of the centre that this worker has moved.
void MoveWorker(double alpha, std::span<float> worker, std::span<const float> moved_centre);

}  // namespace crossover

#endif  // CROSSOVER_CORE_ELASTIC_AVERAGING_H_
