#!/usr/bin/python3
"""Prints worker/models/golden.h: what PyTorch itself computes, for our tests.

Needs Debian's python3-torch (1.13.1), which neither the build nor the tests need:
    tools/golden/make_golden.py > worker/models/golden.h
"""
import torch
from torch.utils.data import DistributedSampler


def cpp_list(values, per_line=16):
    texts = [repr(v) for v in values]
    lines = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
    return "{" + ",\n    ".join(lines) + "}"


def pattern(count, scale):
    """The same numbers as Pattern() in golden_test.cc."""
    return torch.tensor(
        [((i * 7919 + 104729) % 2003 - 1001) / 1001.0 * scale for i in range(count)],
        dtype=torch.float64).to(torch.float32)


def permutation(n, seed):
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()


def sampler_orders(drop_last):
    orders = []
    for rank in range(4):
        sampler = DistributedSampler(range(23), num_replicas=4, rank=rank, shuffle=True,
                                     seed=5, drop_last=drop_last)
        sampler.set_epoch(2)
        orders.append(list(sampler))
    return orders


def mlp():
    """Loss and gradient of the 784-256-10 model on a fixed batch, in flat order."""
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 10))
    flat_order = list(reversed(list(model.parameters())))
    values = pattern(sum(p.numel() for p in flat_order), 0.05)
    offset = 0
    for p in flat_order:
        p.data.copy_(values[offset:offset + p.numel()].view_as(p))
        offset += p.numel()
    images = pattern(8 * 784, 1.0).view(8, 784)
    labels = torch.arange(8) % 10
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    gradient = torch.cat([p.grad.flatten() for p in flat_order])
    return loss.item(), gradient


def main():
    loss, gradient = mlp()
    coordinates = [0, 9, 10, 265, 2569, 2570, 2825, 2826, 100000, 203529]
    print("// Made by tools/golden/make_golden.py with PyTorch 1.13.1; do not edit.")
    print("#ifndef CROSSOVER_WORKER_MODELS_GOLDEN_H_")
    print("#define CROSSOVER_WORKER_MODELS_GOLDEN_H_")
    print()
    print("#include <cstdint>\n#include <vector>")
    print()
    print("namespace crossover::worker::golden {")
    print()
    print("// torch.randperm(n, generator=torch.Generator().manual_seed(seed)).")
    print("inline const std::vector<int64_t> kPermutation10Seed3 = %s;" %
          cpp_list(permutation(10, 3)))
    print("// The first of 60000 with seed 8.")
    print("inline const std::vector<int64_t> kPermutation60000Seed8Head = %s;" %
          cpp_list(permutation(60000, 8)[:16]))
    print("// DistributedSampler(range(23), num_replicas=4, seed=5), set_epoch(2), by rank.")
    for drop_last, name in [(False, "kSampler"), (True, "kSamplerDropLast")]:
        rows = ["    " + cpp_list(order) for order in sampler_orders(drop_last)]
        print("inline const std::vector<std::vector<int64_t>> %s = {\n%s};" %
              (name, ",\n".join(rows)))
    print("// Mean cross-entropy and its gradient for the mlp of golden_test.cc.")
    print("inline constexpr double kMlpLoss = %r;" % loss)
    print("inline constexpr double kMlpGradientNorm = %r;" % gradient.double().norm().item())
    print("inline const std::vector<int64_t> kMlpCoordinates = %s;" % cpp_list(coordinates))
    print("inline const std::vector<double> kMlpGradient = %s;" %
          cpp_list([gradient[c].item() for c in coordinates], 3))
    print()
    print("}  // namespace crossover::worker::golden")
    print()
    print("#endif  // CROSSOVER_WORKER_MODELS_GOLDEN_H_")


if __name__ == "__main__":
    main()
