// Times Open MPI's MPI_Allreduce, for bench/comm_test, which starts it with mpirun and says by MCA
// parameters over what and by which algorithm. Built by bench/peers/build where libopenmpi-dev is
// installed.
//
//   openmpi_all_reduce --transport=tcp --algorithm=ring --sizes=4096,1048576 --budget_s=0.5
//       --warmup=2 --iterations=0 --in_place=in
#include <mpi.h>

#include "bench/peers/peer_loop.h"

namespace crossover::bench {
namespace {

void Reduce(std::vector<double>& values, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op,
                MPI_COMM_WORLD);
}

void Run(int argc, char** argv) {
  std::map<std::string, std::string> flags = PeerFlags(argc, argv);
  Peer peer;
  peer.library = "openmpi";
  peer.transport = flags["transport"];
  peer.algorithm = flags["algorithm"];
  MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &peer.ranks);
  peer.all_reduce = [](float* input, float* output, int64_t count) {
    const void* from = input == output ? MPI_IN_PLACE : input;
    MPI_Allreduce(from, output, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  peer.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  peer.max = [](std::vector<double>& values) { Reduce(values, MPI_MAX); };
  peer.sum = [](std::vector<double>& values) { Reduce(values, MPI_SUM); };
  const PeerPlan plan = PlanOf(flags);
  PeerLoop(peer, plan).Run();
}

}  // namespace
}  // namespace crossover::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  crossover::bench::Run(argc, argv);
  MPI_Finalize();
  return 0;
}
